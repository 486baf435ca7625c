/** In which functions loading spends its time, a column for each compared run, and what changed against the first. */
import { useSignal } from '@preact/signals'
import type { ComparedHotspot, ComparedRun, Comparison } from '../../api/schema'
import { formatDuration, formatFraction, NOT_MEASURED } from '../../format'
import { compare as say } from '../../text/compare'
import { Toggle, useFirst } from '../parts/Button'
import { Choices } from '../parts/Choice'
import { CodePlace } from '../parts/CodePlace'
import { DataTable } from '../parts/DataTable'
import { type FigureColumn, figuresOf } from '../parts/figures'
import { Panel } from '../parts/Panel'
import { RunSwatch } from './RunSwatch'
import './ComparedHotspots.css'

type Of = keyof typeof say.shares

/** What changed most comes first; two different programs share hardly a function. */
const FIRST = 8

/** Less is nothing to read in a table. */
const LEAST_FRACTION = 0.005

export function ComparedHotspots({ runs, hotspots, per }: Comparison) {
  const of = useSignal<Of>('self')
  const showsEqual = useSignal(false)
  const ranked = hotspots.filter(each => largest(each, of.value) >= LEAST_FRACTION)
  const differing = ranked.filter(each => each.differs)
  const equal = ranked.length - differing.length
  const chosen = showsEqual.value ? ranked : differing
  const [shown, showAll] = useFirst(chosen, FIRST, { all: say.hotspotsAll, fewer: say.hotspotsFewer })
  const missing = runs.filter(run => run.hotspots_missing !== null)
  const isCompared = runs[0]?.hotspots_missing === null && missing.length < runs.length - 1
  return (
    <Panel
      title={say.hotspots}
      name="hotspots"
      detail={say.hotspotsOf[per]}
      controls={
        <>
          {equal > 0 && (
            <Toggle on={showsEqual}>{showsEqual.value ? say.hideEqual : say.hotspotsEqual(equal)}</Toggle>
          )}
          <Choices
            label={say.hotspotsBy}
            value={of.value}
            options={Object.entries(say.shares) as [Of, string][]}
            small
            onChoose={chosen => (of.value = chosen)}
          />
        </>
      }
      figures={{ file: figuresOf(filedOf(runs), hotspots).file }}
    >
      {missing.map(({ run, label, hotspots_missing: why }) => (
        <p key={run.run_id} class="missing">
          {say.hotspotsMissing(label, why ?? '')}
        </p>
      ))}
      {isCompared && shown.length === 0 && <p class="missing">{say.hotspotsNone}</p>}
      {shown.length > 0 && (
        <DataTable
          caption={say.hotspots}
          columns={headsOf(runs)}
          class="compared-hotspots"
          rows={shown.map(each => cellsOf(each, of.value))}
        />
      )}
      {showAll}
    </Panel>
  )
}

function largest(hotspot: ComparedHotspot, of: Of): number {
  return Math.max(...hotspot[`${of}_fractions`].map(fraction => fraction ?? 0))
}

/** After each run but the first: what changed since that one. */
function headsOf(runs: readonly ComparedRun[]) {
  const names = runs.map(({ label }, place) => (
    <span key={label} class="with-glyph">
      <RunSwatch place={place} />
      {label}
    </span>
  ))
  return [
    say.function,
    say.stage,
    ...names.flatMap((name, place) => (place > 0 ? [name, say.change] : [name])),
  ]
}

function cellsOf(hotspot: ComparedHotspot, of: Of) {
  const { function: name, file, stage, lines, differs } = hotspot
  const [shares, times] = [hotspot[`${of}_fractions`], hotspot[`${of}_us`]]
  const line = lines.findLast(each => each !== null) ?? null
  return [
    <>
      <code class="cut" title={name}>
        {name}
      </code>
      <CodePlace file={file} line={line} />
    </>,
    stage,
    ...shares.flatMap((share, place) => {
      const figure = (
        <>
          {formatFraction(share)} <small>{times[place] ? formatDuration(times[place]) : ''}</small>
        </>
      )
      const change = changeText([shares[0], share], [times[0], times[place]])
      return place > 0 ? [figure, <span class={differs ? 'firm' : 'faint'}>{change}</span>] : [figure]
    }),
  ]
}

type Pair = readonly [before: number | null | undefined, after: number | null | undefined]

/** In time where both are known: a share also grows because something else became quicker. */
export function changeText(shares: Pair, times: Pair): string {
  const [before, after] = times
  if (before != null && after != null) return signed(after - before, formatDuration)
  const [earlier, later] = shares
  if (earlier == null || later == null) return NOT_MEASURED
  return say.points(signed(100 * (later - earlier), points => points.toFixed(points < 9.95 ? 1 : 0)))
}

/** A minus as long as a plus is wide. */
function signed(value: number, format: (size: number) => string): string {
  const size = format(Math.abs(value))
  if (Number.parseFloat(size) === 0) return size
  return `${value < 0 ? '−' : '+'}${size}`
}

function filedOf(runs: readonly ComparedRun[]): readonly FigureColumn<ComparedHotspot>[] {
  const each = (name: 'self_fractions' | 'total_fractions' | 'self_us' | 'total_us') =>
    runs.map(({ run }, place) => ({
      name: `${run.run_id} ${name.replace('fractions', 'fraction')}`,
      value: (hotspot: ComparedHotspot) => hotspot[name][place] ?? null,
    }))
  return [
    { name: 'function' },
    { name: 'file' },
    { name: 'stage' },
    ...each('self_fractions'),
    ...each('total_fractions'),
    ...each('self_us'),
    ...each('total_us'),
    { name: 'differs', value: ({ differs }) => (differs ? 1 : 0) },
  ]
}
