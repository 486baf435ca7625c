/** Who changed what, the newest first: of one run, or of all that the reader may see. */
import { useSignal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import { get } from '../../api/client'
import type { AuditEntry, AuditPage } from '../../api/schema'
import { formatTags } from '../../format'
import { runHref } from '../../router'
import { openResource } from '../../store/resource'
import { audit as say } from '../../text/past'
import './AuditList.css'
import { TroubleBanner } from './Banner'
import { Button } from './Button'
import { useStore } from './stores'
import { When } from './When'

const PAGE = 20
/** Changes of a person: read again a moment after runs report. */
const REST_MS = 5_000

export function AuditList({ runId = null }: { runId?: string | null }) {
  const most = useSignal(PAGE)
  const page = useStore(
    () =>
      openResource<AuditPage>(
        stop => get('/api/v1/audit', { query: { run_id: runId, limit: most.peek() } }, stop),
        { restMs: REST_MS, topics: [runId === null ? 'runs' : `run:${runId}`] },
      ),
    [runId],
  )
  const asked = most.value
  useEffect(() => {
    if (asked > PAGE) void page.read()
  }, [asked, page])
  const [found, trouble] = [page.value, page.trouble.value]
  if (trouble && !found) return <TroubleBanner what={say.what} error={trouble} />
  if (!found) return null
  if (found.entries.length === 0) return <p class="missing">{say.none}</p>
  return (
    <>
      <ol class="audit">
        {found.entries.map(entry => (
          <Entry key={entry.entry_id} entry={entry} isOfAll={runId === null} />
        ))}
      </ol>
      {found.next_cursor && asked < MOST && (
        <Button kind="small" onClick={() => (most.value = Math.min(MOST, asked * 4))}>
          {say.more}
        </Button>
      )}
    </>
  )
}

/** The service sends at most this many at once. */
const MOST = 1_000

function Entry({ entry, isOfAll }: { entry: AuditEntry; isOfAll: boolean }) {
  const { at, by, action, run_id, name } = entry
  // A view is stored as the address of its list.
  const read = (content: AuditEntry['before']) =>
    action.startsWith('view_') && typeof content === 'string' ? searched(content) : content
  const [before, after] = [read(entry.before), read(entry.after)]
  const isNamed = isOfAll || run_id === null
  const hasContent = before !== null || after !== null
  return (
    <li>
      <When at={at} />
      <div>
        <b>{by || say.unknown}</b> {isNamed ? say.actions[action] : say.actions[action].replace(/ of$/, '')}{' '}
        {isNamed &&
          (run_id === null ? (
            <span class="mono-name">{name}</span>
          ) : (
            <a class="mono-name" href={runHref(run_id)}>
              {name}
            </a>
          ))}
        {hasContent && (
          <span class="audit-change">
            {before !== null && <del>{wordsOf(before)}</del>}
            {before !== null && after !== null && <span aria-hidden="true"> → </span>}
            {after !== null && <ins>{wordsOf(after)}</ins>}
          </span>
        )}
      </div>
    </li>
  )
}

function searched(query: string): string {
  return [...new URLSearchParams(query)].map(([name, value]) => `${name}: ${value}`).join(', ')
}

function wordsOf(content: AuditEntry['before']): string {
  if (!content) return say.empty
  return typeof content === 'string' ? content : formatTags(content).join(', ') || say.empty
}
