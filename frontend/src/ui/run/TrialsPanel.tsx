/** What the run tried while it trained: each setting with its measured pace, what was kept, and what that gained. */
import type { ComponentChildren } from 'preact'
import type { Diagnosis, Trial, Tuning } from '../../api/schema'
import { asSentence, formatDuration, formatFactor, formatNumber, formatSetting } from '../../format'
import { trials as say } from '../../text/charts'
import { DataTable } from '../parts/DataTable'
import { asTheyAre, type FigureColumn, figuresOf } from '../parts/figures'
import { Panel } from '../parts/Panel'
import { settingsOf, varying } from './trialSettings'
import './TrialsPanel.css'

const FILED: readonly FigureColumn<Trial>[] = [
  ...asTheyAre<Trial>('search', 'number'),
  { name: 'settings', value: ({ settings }) => settingsOf(settings, Object.keys(settings)) },
  ...asTheyAre<Trial>('steps', 'steps_per_s', 'low', 'high', 'speedup', 'predicted_speedup'),
  { name: 'kept', value: ({ kept }) => (kept ? 1 : 0) },
  { name: 'reason', value: ({ reason }) => reason ?? '' },
]

interface TrialsPanelProps {
  diagnosis: Pick<Diagnosis, 'trials' | 'steps_per_s' | 'status'>
  tuning: Tuning
}

export function TrialsPanel({ diagnosis, tuning }: TrialsPanelProps) {
  const trials = diagnosis.trials ?? []
  return (
    <Panel
      title={say.title}
      detail={tuning.status_label}
      name="trials"
      class="trials"
      figures={trials.length > 0 ? { file: figuresOf(FILED, trials).file } : undefined}
    >
      <TuningResult tuning={tuning} />
      {trials.length > 0 && <Paces tuning={tuning} trials={trials} now={diagnosis.steps_per_s} />}
      {trials.length > 0 && <Tried trials={trials} isOver={diagnosis.status !== 'running'} />}
    </Panel>
  )
}

/** Each setting with its pace: followed while they are tried, and looked up when the run has ended. */
function Tried({ trials, isOver }: { trials: readonly Trial[]; isOver: boolean }) {
  const table = (
    <DataTable caption={say.title} columns={say.columns} rows={trials.map(row(trials))} isNumeric />
  )
  if (!isOver) return table
  const measured = trials.filter(trial => trial.steps_per_s !== null).length
  return (
    <details>
      <summary class="detail">{say.all(measured, trials.length - measured)}</summary>
      {table}
    </details>
  )
}

function TuningResult({ tuning }: { tuning: Tuning }) {
  const { began_with: before, kept, speedup, low, high, reason } = tuning
  if (tuning.status === 'kept' && kept && speedup !== null) {
    const interval = low !== null && high !== null ? say.interval(low.toFixed(2), high.toFixed(2)) : ''
    const names = Object.keys(kept).filter(name => before[name] !== kept[name])
    const changes = names.map(
      name => `${name} ${formatSetting(before[name] ?? null)} → ${formatSetting(kept[name] ?? null)}`,
    )
    return (
      <p class="trials-kept">
        <code>{changes.join(', ')}</code>: {say.gained(formatFactor(speedup), interval)}
      </p>
    )
  }
  return reason === null ? null : <p class="remark">{asSentence(reason)}</p>
}

/** The mean step before, while settings were tried, and since. */
function Paces({ tuning, trials, now }: { tuning: Tuning; trials: readonly Trial[]; now: number | null }) {
  const before = trials.find(trial => trial.number === 0)?.steps_per_s ?? null
  const during = tuning.trial_steps > 0 ? tuning.trial_us / tuning.trial_steps : null
  // Of a run that was recorded before intervals were.
  const isKnown = tuning.gained_low_us !== null && tuning.gained_high_us !== null
  const isOver = tuning.status === 'kept' || tuning.status === 'left_alone'
  const figures: [string, number | null][] = [
    [say.before, before && 1e6 / before],
    ...(tuning.trial_us > 0
      ? [[say.during(formatDuration(tuning.trial_us)), during] as [string, number | null]]
      : []),
    ...(isOver ? [[say.after, now && 1e6 / now] as [string, number | null]] : []),
  ]
  return (
    <dl class="trials-paces">
      {figures.map(([name, us]) => (
        <div key={name}>
          <dt class="quiet">{name}</dt>
          <dd>{formatDuration(us)}</dd>
        </div>
      ))}
      {tuning.gained_us !== null && (
        <div>
          <dt class="quiet">{say.sinceThen}</dt>
          <dd>
            {formatDuration(tuning.gained_us)}{' '}
            {isKnown && (
              <small class="quiet">
                {say.interval(formatDuration(tuning.gained_low_us), formatDuration(tuning.gained_high_us))}
              </small>
            )}
          </dd>
        </div>
      )}
    </dl>
  )
}

function row(trials: readonly Trial[]): (trial: Trial) => readonly ComponentChildren[] {
  const names = varying(trials)
  const isOnly = trials.every(trial => trial.search === 0)
  return trial => [
    <span key="settings" class={`trial-setting ${trial.kept ? 'trial-kept' : ''}`}>
      <code>{settingsOf(trial.settings, names)}</code>
      <small class="trial-reason quiet">{outcome(trial, isOnly)}</small>
    </span>,
    formatDuration(trial.steps_per_s && 1e6 / trial.steps_per_s),
    pace(trial),
    trial.number === 0 ? '' : formatFactor(trial.speedup),
    trial.number === 0 ? '' : formatFactor(trial.predicted_speedup),
    formatNumber(trial.steps),
  ]
}

function outcome({ kept, number, reason, search }: Trial, isOnly: boolean): string {
  if (number > 0) return [kept ? say.kept : '', reason].filter(Boolean).join('; ')
  const which = isOnly ? '' : say.search(search + 1)
  return which + [kept ? say.stayed : say.began, reason].filter(Boolean).join('; ')
}

function pace({ steps_per_s: value, low, high }: Trial): string {
  const ends =
    low !== null && high !== null ? ` (${say.interval(formatNumber(low), formatNumber(high))})` : ''
  return `${formatNumber(value)}${ends}`
}
