/** Finds a run to compare: the newest ones, or those that match an expression. */
import { useSignal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import { get } from '../../api/client'
import type { RunsPage } from '../../api/schema'
import { formatDay, formatFraction, inZone } from '../../format'
import { MOST_COMPARED } from '../../store/compareHref'
import { openResource } from '../../store/resource'
import { compare as say } from '../../text/compare'
import { text } from '../../text/shared'
import { Search } from '../parts/fields'
import { StatusGlyph, VerdictWord } from '../parts/Glyph'
import { useStore } from '../parts/stores'
import './RunPicker.css'

const SHOWN = 10
/** Runs requested: some of them may be in the comparison already. */
const ASKED = SHOWN + MOST_COMPARED
const TYPING_MS = 150

interface RunPickerProps {
  chosen: readonly string[]
  onPick(runId: string): void
}

export function RunPicker({ chosen, onPick }: RunPickerProps) {
  const typed = useSignal('')
  const found = useStore(() => openResource<RunsPage>(stop => find(typed.peek().trim(), stop)))
  const q = typed.value.trim()
  useEffect(() => {
    const timer = setTimeout(found.read, q ? TYPING_MS : 0)
    return () => clearTimeout(timer)
  }, [q, found])

  const refusal = found.trouble.value
  const offered = found.value?.runs.filter(run => !chosen.includes(run.run_id)).slice(0, SHOWN)
  return (
    <div class="picker">
      <Search label={say.find} typed={typed} class="framed" />
      {refusal && (
        <p class="missing" role="alert">
          {refusal.message}
        </p>
      )}
      {offered?.length === 0 && <p class="missing">{say.none}</p>}
      <ul>
        {offered?.map(run => (
          <li key={run.run_id}>
            <button type="button" onClick={() => onPick(run.run_id)}>
              <span class="with-glyph picker-name">
                <StatusGlyph status={run.status} />
                {run.name}
              </span>
              <VerdictWord judged={run}>
                {run.data_stall_fraction !== null && (
                  <span title={text.perStep(formatFraction(run.data_stall_fraction))}>
                    {formatFraction(run.data_stall_fraction)}
                  </span>
                )}
              </VerdictWord>
              <span class="faint wide-only">{inZone(formatDay(new Date(run.started_at), new Date()))}</span>
            </button>
          </li>
        ))}
      </ul>
    </div>
  )
}

function find(q: string, stop: AbortSignal): Promise<RunsPage> {
  return get('/api/v1/runs', { query: { q: q || null, limit: ASKED, sort: '-started_at' } }, stop)
}
