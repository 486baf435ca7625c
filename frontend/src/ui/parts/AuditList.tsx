/** Who changed what, the newest first: of one run, or of all that the reader may see. */
import { get } from '../../api/client'
import type { AuditEntry } from '../../api/schema'
import { formatTags } from '../../format'
import { runHref } from '../../router'
import { audit as say } from '../../text/past'
import './AuditList.css'
import { Log, useLog } from './Log'

const MOST = 1_000
/** Changes of a person: read again a moment after runs report. */
const REST_MS = 5_000

export function AuditList({ runId = null }: { runId?: string | null }) {
  const log = useLog(
    (limit, stop) => get('/api/v1/audit', { query: { run_id: runId, limit } }, stop),
    MOST,
    { restMs: REST_MS, topics: [runId === null ? 'runs' : `run:${runId}`] },
    [runId],
  )
  const shown = (entry: AuditEntry) =>
    [entry.at, <Entry key="entry" entry={entry} isOfAll={runId === null} />] as const
  return <Log log={log} say={say} entriesOf={page => page.entries} shown={shown} />
}

function Entry({ entry, isOfAll }: { entry: AuditEntry; isOfAll: boolean }) {
  const { by, action, run_id, name } = entry
  // A view is stored as the address of its list.
  const read = (content: AuditEntry['before']) =>
    action.startsWith('view_') && typeof content === 'string' ? searched(content) : content
  const [before, after] = [read(entry.before), read(entry.after)]
  const isNamed = isOfAll || run_id === null
  const hasContent = before !== null || after !== null
  return (
    <>
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
    </>
  )
}

function searched(query: string): string {
  return [...new URLSearchParams(query)].map(([name, value]) => `${name}: ${value}`).join(', ')
}

function wordsOf(content: AuditEntry['before']): string {
  if (!content) return say.empty
  return typeof content === 'string' ? content : formatTags(content).join(', ') || say.empty
}
