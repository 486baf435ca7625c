/** Finds a run to compare: the newest ones, or those that match an expression. */
import { useSignal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import { get, ServiceError } from '../../api/client'
import type { RunSummary } from '../../api/names'
import { formatDay, formatFraction } from '../../format'
import { asked } from '../../store/connection'
import { compare as say } from '../../text'
import { verdictTone, verdictWord } from '../../verdict'
import { StatusGlyph, VerdictGlyph } from '../parts/Glyph'

const SHOWN = 10
const TYPING_MS = 150

interface RunPickerProps {
  chosen: readonly string[]
  onPick(runId: string): void
}

export function RunPicker({ chosen, onPick }: RunPickerProps) {
  const typed = useSignal('')
  const found = useSignal<readonly RunSummary[] | null>(null)
  const refusal = useSignal<string | null>(null)
  const q = typed.value.trim()

  useEffect(() => {
    const control = new AbortController()
    const timer = setTimeout(() => void find(control.signal), q ? TYPING_MS : 0)
    async function find(stop: AbortSignal): Promise<void> {
      try {
        const query = { q: q || null, limit: SHOWN + chosen.length, sort: '-started_at' }
        const page = await asked(get('/api/v1/runs', { query }, stop))
        if (page) found.value = page.runs
        refusal.value = null
      } catch (error) {
        if (!(error instanceof ServiceError)) throw error
        refusal.value = error.message
      }
    }
    return () => {
      clearTimeout(timer)
      control.abort()
    }
  }, [q, chosen.length])

  const offered = found.value?.filter(run => !chosen.includes(run.run_id)).slice(0, SHOWN)
  return (
    <div class="picker">
      <input
        type="search"
        aria-label={say.find}
        placeholder={say.find}
        value={typed.value}
        onInput={event => (typed.value = event.currentTarget.value)}
      />
      {refusal.value && (
        <p class="missing" role="alert">
          {refusal.value}
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
              <span class={`with-glyph ${verdictTone(run)}`}>
                <VerdictGlyph judged={run} />
                {verdictWord(run, run.status)}
                {run.data_stall_fraction !== null && ` ${formatFraction(run.data_stall_fraction)}`}
              </span>
              <span class="faint">{formatDay(new Date(run.started_at), new Date())}</span>
            </button>
          </li>
        ))}
      </ul>
    </div>
  )
}
