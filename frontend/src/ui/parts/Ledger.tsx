/** Predicted against observed: what an advised change gained in the run that carried it. */
import type { LedgerEntry, Run } from '../../api/schema'
import { asSentence, formatFactor, formatSetting } from '../../format'
import { runHref } from '../../router'
import { ledger as say } from '../../text/shared'
import { Panel } from './Panel'
import { RangeLine } from './RangeLine'
import './Ledger.css'

interface LedgerProps {
  /** On the page of this run; `null`: on another page. */
  run: Pick<Run, 'run_id'> | null
  entries: readonly LedgerEntry[]
  /** How runs are called, where that is known. */
  names?: ReadonlyMap<string, string>
}

export function Ledger({ run, entries, names }: LedgerProps) {
  return (
    <Panel
      title={say.title}
      class={run === null ? 'ledger ledger-open' : 'ledger'}
      detail={run === null ? undefined : entries.map(inShort).join('; ')}
      isFolded={run !== null}
    >
      {entries.map(entry => (
        <Entry
          key={`${entry.advice_of} ${entry.run_id} ${entry.change}`}
          entry={entry}
          run={run}
          names={names}
        />
      ))}
    </Panel>
  )
}

/** Of one that is folded: what was promised, and what came of it. */
function inShort(entry: LedgerEntry): string {
  const { observed_speedup: observed, predicted_speedup: predicted, change_label: change } = entry
  const figures = [
    predicted === null ? null : `${say.predicted} ${formatFactor(predicted)}`,
    observed === null ? null : `${say.observed} ${formatFactor(observed)}`,
  ].filter(figure => figure !== null)
  return [`${change}: ${figures.join(', ')}`, outcome(entry)].join(figures.length > 0 ? '. ' : '')
}

interface EntryProps {
  entry: LedgerEntry
  run: LedgerProps['run']
  names: LedgerProps['names']
}

function Entry({ entry, run, names }: EntryProps) {
  const settings = Object.entries(entry.settings).map(([key, value]) => `${key}=${formatSetting(value)}`)
  return (
    <div class="ledger-entry">
      <div>
        {settings.length > 0 ? <code>{settings.join(', ')}</code> : entry.change_label}
        <p class="ledger-runs quiet">
          {entry.advice_of === entry.run_id ? (
            <>
              {say.tuned} <RunLink runId={entry.run_id} run={run} names={names} />
            </>
          ) : (
            <>
              {say.before} <RunLink runId={entry.advice_of} run={run} names={names} /> {say.after}{' '}
              <RunLink runId={entry.run_id} run={run} names={names} />
            </>
          )}
        </p>
        <p class={`ledger-outcome quiet ${tone(entry)}`}>{outcome(entry)}</p>
      </div>
      {entry.observed_speedup === null && entry.predicted_speedup === null ? null : <Scale entry={entry} />}
    </div>
  )
}

/** A hit is inside an interval that could have been missed. */
function tone({ inside_interval, is_narrow }: LedgerEntry): string {
  if (inside_interval === null) return ''
  if (inside_interval) return is_narrow ? 'kept' : ''
  return 'missed'
}

function outcome(entry: LedgerEntry): string {
  if (entry.observed_speedup === null) return entry.why_not ? asSentence(entry.why_not) : say.pending
  if (entry.inside_interval === null) return say.unpredicted
  if (!entry.inside_interval) return say.outside
  return entry.is_narrow ? say.inside : say.wide
}

function RunLink({ runId, run, names }: Omit<EntryProps, 'entry'> & { runId: string }) {
  if (runId === run?.run_id) return <b class="firm">{say.thisRun}</b>
  return <a href={runHref(runId)}>{names?.get(runId) ?? runId}</a>
}

function Scale({ entry }: { entry: LedgerEntry }) {
  const rows = [
    { name: say.predicted, value: entry.predicted_speedup, low: entry.low, high: entry.high },
    { name: say.observed, value: entry.observed_speedup, low: entry.observed_low, high: entry.observed_high },
  ]
  const figures = rows.flatMap(({ value, low, high }) => [value, low, high]).filter(figure => figure !== null)
  const [from, to] = [Math.min(1, ...figures), Math.max(1.1, ...figures)]
  return (
    <div class="ledger-scale">
      {rows.map(({ name, value, low, high }) => (
        <div key={name} class={`ledger-row quiet ${name} ${tone(entry)}`}>
          <span>{name}</span>
          <RangeLine {...{ from, to, value, low, high }} />
          <span class="ledger-figure">
            <b>{formatFactor(value)}</b>
            {low !== null && high !== null && (
              <small class="wide-only">{`${low.toFixed(2)} to ${high.toFixed(2)}`}</small>
            )}
          </span>
        </div>
      ))}
    </div>
  )
}
