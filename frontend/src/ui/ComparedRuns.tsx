/** A line for each compared run: where its step goes, to one scale, and how fast it is against the first. */
import type { Anatomy, ComparedRun, Comparison } from '../api/names'
import { RUN_COLOURS } from '../charts/overlay'
import type { Table } from '../csv'
import { asSentence, formatDuration, formatFactor, formatNumber, NOT_MEASURED, plainFactor } from '../format'
import { navigate, runHref } from '../router'
import { compareHref } from '../store/compare'
import { compare as say } from '../text'
import { verdictTone, verdictWord } from '../verdict'
import { StepBar } from './AnatomyBars'
import { DataTable } from './DataTable'
import { StatusGlyph, VerdictGlyph } from './Glyph'
import { Panel } from './Panel'
import { RunSwatch } from './RunSwatch'

interface ComparedRunsProps {
  comparison: Comparison
  query: URLSearchParams
}

export function ComparedRuns({ comparison, query }: ComparedRunsProps) {
  const { runs, per, basis } = comparison
  const anatomies = runs.map(run => anatomyOf(run, per))
  const longestUs = Math.max(1, ...anatomies.map(anatomy => anatomy?.step_us ?? 0))
  const ids = runs.map(one => one.run.run_id)
  return (
    <Panel
      title={say.step[per]}
      name="speed"
      detail={say.basis[basis]}
      table={() => <Figures runs={runs} />}
      csv={() => figures(runs)}
      class="compared-runs"
    >
      <ol class="run-lines">
        {runs.map((run, place) => (
          <li key={run.run.run_id} class="run-line">
            <Name run={run} place={place} />
            <Step run={run} anatomy={anatomies[place] ?? null} longestUs={longestUs} />
            <Speed run={run} place={place} runs={runs} />
            <Actions run={run} place={place} ids={ids} query={query} />
          </li>
        ))}
      </ol>
      <p class="note">{say.interval}</p>
    </Panel>
  )
}

/** Of a step, or where batches differ of what one takes for a sample. */
function anatomyOf({ anatomy, batch_samples }: ComparedRun, per: Comparison['per']): Anatomy | null {
  if (!anatomy || per === 'steps') return anatomy
  if (!batch_samples) return null
  const copy = anatomy.h2d_exposed_us
  return {
    step_us: anatomy.step_us / batch_samples,
    data_wait_us: anatomy.data_wait_us / batch_samples,
    h2d_exposed_us: copy === null ? null : copy / batch_samples,
    compute_us: anatomy.compute_us / batch_samples,
  }
}

function Name({ run, place }: { run: ComparedRun; place: number }) {
  return (
    <div class="run-line-name">
      <span class="with-glyph">
        <RunSwatch place={place} />
        <a href={runHref(run.run.run_id)}>{run.label}</a>
      </span>
      <small class={`with-glyph ${verdictTone(run.run)}`}>
        <VerdictGlyph judged={run.run} />
        {verdictWord(run.run, run.run.status)}
        {run.run.status === 'running' && <StatusGlyph status="running" />}
      </small>
    </div>
  )
}

interface StepProps {
  run: ComparedRun
  anatomy: Anatomy | null
  longestUs: number
}

/** Without figures there is no empty bar: the reason stands in its place. */
function Step({ run, anatomy, longestUs }: StepProps) {
  if (!anatomy) return <p class="missing">{asSentence(run.why_not ?? NOT_MEASURED)}</p>
  return (
    <>
      <StepBar label={run.label} anatomy={anatomy} longestUs={longestUs} />
      <b class="run-line-step">{formatDuration(anatomy.step_us)}</b>
    </>
  )
}

interface SpeedProps {
  run: ComparedRun
  place: number
  runs: readonly ComparedRun[]
}

function Speed({ run: { speed, label }, place, runs }: SpeedProps) {
  const ends = runs.flatMap(({ speed: each }) => (each ? [each.low, each.high] : []))
  const [from, to] = [Math.min(0.95, ...ends), Math.max(1.05, ...ends)]
  const at = (factor: number) => `${(100 * (factor - from)) / (to - from)}%`
  if (place === 0) return <Baseline at={at(1)} />
  if (!speed) return null
  const factor = formatFactor(speed.factor)
  const [low, high] = [plainFactor(speed.low), plainFactor(speed.high)]
  const colour = `var(--${RUN_COLOURS[place] ?? 'ink'})`
  return (
    <>
      <div class="ratio" role="img" aria-label={`${label}: ${say.range(factor, low, high)}`}>
        <div class="range-line">
          <i class="range-end" style={{ left: at(1) }} />
          <i
            class="range-span"
            style={{ left: at(speed.low), right: `calc(100% - ${at(speed.high)})`, background: colour }}
          />
          <i class="range-point" style={{ left: at(speed.factor), background: colour }} />
        </div>
      </div>
      <span class={`run-line-speed ${speed.is_told ? '' : 'faint'}`}>
        <b>{factor}</b> <small>{`${low} to ${high}`}</small>
      </span>
    </>
  )
}

/** Where all others would stand if they were as fast. */
function Baseline({ at }: { at: string }) {
  return (
    <>
      <div class="ratio of-baseline" aria-hidden="true">
        <div class="range-line">
          <span class="unity" style={{ left: at }}>
            {say.unity}
          </span>
        </div>
      </div>
      <span class="run-line-speed faint">{say.baseline}</span>
    </>
  )
}

interface ActionsProps extends ComparedRunsProps {
  run: ComparedRun
  place: number
  ids: readonly string[]
}

function Actions({ run, place, ids, query }: Omit<ActionsProps, 'comparison'>) {
  const id = run.run.run_id
  const others = ids.filter(one => one !== id)
  return (
    <span class="run-line-actions">
      {place > 0 && (
        <button
          type="button"
          class="button small"
          aria-label={say.makeBaselineOf(run.label)}
          onClick={() => navigate(compareHref([id, ...others], query))}
        >
          {say.makeBaseline}
        </button>
      )}
      <button
        type="button"
        class="button plain small"
        aria-label={say.remove(run.label)}
        title={say.remove(run.label)}
        onClick={() => navigate(compareHref(others, query))}
      >
        ×
      </button>
    </span>
  )
}

const COLUMNS = ['speedup', 'low', 'high', 'steps_per_s', 'samples_per_s'] as const
const PARTS = ['step_us', 'data_wait_us', 'h2d_exposed_us', 'compute_us'] as const

function figures(runs: readonly ComparedRun[]): Table {
  return {
    columns: ['run_id', ...COLUMNS, ...PARTS],
    rows: runs.map(({ run, speed, steps_per_s, samples_per_s, anatomy }) => [
      run.run_id,
      ...[speed?.factor ?? null, speed?.low ?? null, speed?.high ?? null, steps_per_s, samples_per_s],
      ...PARTS.map(part => anatomy?.[part] ?? null),
    ]),
  }
}

/** The same in words. */
function Figures({ runs }: { runs: readonly ComparedRun[] }) {
  const rows = figures(runs).rows.map((row, place) => {
    const [factor, low, high, steps, samples, ...parts] = row.slice(1) as (number | null)[]
    return [
      runs[place]?.label,
      ...[factor, low, high].map(one => formatFactor(one ?? null)),
      ...[steps, samples].map(one => formatNumber(one ?? null)),
      ...parts.map(formatDuration),
    ]
  })
  return <DataTable caption={say.what} columns={say.figures} rows={rows} isNumeric />
}
