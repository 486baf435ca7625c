/** A line for each compared run: where its step goes, to one scale, and how fast it is compared with the first. */
import type { Anatomy, ComparedRun, Comparison } from '../../api/schema'
import { ANATOMY_PARTS, dividedBy } from '../../charts/declared/anatomy'
import { runStyle } from '../../charts/declared/compare'
import { asSentence, capital, formatDuration, formatFactor, NOT_MEASURED, plainFactor } from '../../format'
import { navigate, route, runHref } from '../../router'
import { compareHref } from '../../store/compareHref'
import { compare as say } from '../../text/compare'
import { StepBar } from '../parts/AnatomyBars'
import { Button } from '../parts/Button'
import { type FigureColumn, figuresOf } from '../parts/figures'
import { StatusGlyph, VerdictWord } from '../parts/Glyph'
import { Panel } from '../parts/Panel'
import { place, RangeLine } from '../parts/RangeLine'
import { RunSwatch } from './RunSwatch'
import './ComparedRuns.css'

const COLUMNS: readonly FigureColumn<ComparedRun>[] = [
  { name: 'run_id', label: 'Run', value: ({ run }) => run.run_id, format: ({ label }) => label },
  { name: 'speedup', label: 'Speed', unit: 'factor', value: ({ speed }) => speed?.factor ?? null },
  { name: 'low', label: '95% from', unit: 'factor', value: ({ speed }) => speed?.low ?? null },
  { name: 'high', label: 'to', unit: 'factor', value: ({ speed }) => speed?.high ?? null },
  { name: 'steps_per_s', label: 'Steps/s', unit: 'per_s' },
  { name: 'samples_per_s', label: 'Samples/s', unit: 'per_s' },
  part('step_us', 'mean step'),
]

function part(name: keyof Anatomy, label: string): FigureColumn<ComparedRun> {
  return { name, label: capital(label), unit: 'us', value: ({ anatomy }) => anatomy?.[name] ?? null }
}

function columnsOf(runs: readonly ComparedRun[]): readonly FigureColumn<ComparedRun>[] {
  const parts = ANATOMY_PARTS.filter(({ name, isRare }) => !isRare || runs.some(run => run.anatomy?.[name]))
  return [...COLUMNS, ...parts.map(({ name, label }) => part(name, label))]
}

export function ComparedRuns({ comparison }: { comparison: Comparison }) {
  const { runs, per, basis } = comparison
  const anatomies = runs.map(run => anatomyOf(run, per))
  const longestUs = Math.max(1, ...anatomies.map(anatomy => anatomy?.step_us ?? 0))
  const ids = runs.map(one => one.run.run_id)
  return (
    <Panel
      title={say.step[per]}
      name="speed"
      detail={say.basis[basis]}
      figures={figuresOf(columnsOf(runs), runs)}
    >
      <ol>
        {runs.map((run, place) => (
          <li key={run.run.run_id} class="run-line">
            <Name run={run} place={place} />
            <Step run={run} anatomy={anatomies[place] ?? null} longestUs={longestUs} />
            <Ratio run={run} index={place} runs={runs} />
            <Actions run={run} place={place} ids={ids} />
          </li>
        ))}
      </ol>
      <p class="note">{say.interval}</p>
    </Panel>
  )
}

/** Of one step, or of one sample where batch sizes differ. */
function anatomyOf({ anatomy, batch_samples }: ComparedRun, per: Comparison['per']): Anatomy | null {
  if (!anatomy || per === 'steps') return anatomy
  return batch_samples ? dividedBy(batch_samples, anatomy) : null
}

function Name({ run, place }: { run: ComparedRun; place: number }) {
  return (
    <div class="run-line-name">
      <span class="with-glyph">
        <RunSwatch place={place} />
        <a href={runHref(run.run.run_id)}>{run.label}</a>
      </span>
      <small>
        <VerdictWord judged={run.run}>
          {run.run.status === 'running' && <StatusGlyph status="running" />}
        </VerdictWord>
      </small>
    </div>
  )
}

interface StepProps {
  run: ComparedRun
  anatomy: Anatomy | null
  longestUs: number
}

/** A run without figures shows the reason instead of an empty bar. */
function Step({ run, anatomy, longestUs }: StepProps) {
  if (!anatomy) return <p class="missing">{asSentence(run.why_not ?? NOT_MEASURED)}</p>
  return (
    <>
      <StepBar label={run.label} anatomy={anatomy} longestUs={longestUs} />
      <b class="run-line-step strong">{formatDuration(anatomy.step_us)}</b>
    </>
  )
}

function Actions({ run, place, ids }: { run: ComparedRun; place: number; ids: readonly string[] }) {
  const id = run.run.run_id
  const others = ids.filter(one => one !== id)
  const show = (chosen: readonly string[]) => navigate(compareHref(chosen, route.value.query))
  return (
    <span class="run-line-actions">
      {place > 0 && (
        <Button kind="small" aria-label={say.makeBaselineOf(run.label)} onClick={() => show([id, ...others])}>
          {say.makeBaseline}
        </Button>
      )}
      <Button
        kind="plain small"
        aria-label={say.remove(run.label)}
        title={say.remove(run.label)}
        onClick={() => show(others)}
      >
        ×
      </Button>
    </span>
  )
}

interface RatioProps {
  run: ComparedRun
  index: number
  runs: readonly ComparedRun[]
}

/** How many times as fast a run is, with its interval, on a line that all compared runs share. */
function Ratio({ run: { speed, label, why_not }, index, runs }: RatioProps) {
  const ends = runs.flatMap(({ speed: each }) => (each ? [each.low, each.high] : []))
  const [from, to] = [Math.min(0.95, ...ends), Math.max(1.05, ...ends)]
  if (why_not !== null) return null
  if (index === 0) return <Baseline at={place(from, to)(1)} />
  if (!speed) return null
  const factor = formatFactor(speed.factor)
  const [low, high] = [plainFactor(speed.low), plainFactor(speed.high)]
  const colour = `var(--${runStyle(index).colour})`
  return (
    <>
      <div
        class="ratio"
        style={{ '--range': colour }}
        role="img"
        aria-label={`${label}: ${say.range(factor, low, high)}`}
      >
        <RangeLine from={from} to={to} value={speed.factor} low={speed.low} high={speed.high} />
      </div>
      <span class={`run-line-speed ${speed.is_told ? '' : 'faint'}`}>
        <b>{factor}</b> <small>{`${low} to ${high}`}</small>
      </span>
    </>
  )
}

/** The place of a run that is as fast as the baseline. */
function Baseline({ at }: { at: string }) {
  return (
    <>
      <div class="ratio" aria-hidden="true">
        <span class="unity faint" style={{ left: at }}>
          {say.unity}
        </span>
      </div>
      <span class="run-line-speed faint">{say.baseline}</span>
    </>
  )
}
