/** The charts of several runs over one axis, each declared once: one metric, a line a run, along steps, time, epochs or samples. */
import type { ComparedRun, Comparison, Series, SeriesPage } from '../../api/schema'
import { formatNumber } from '../../format'
import { compare as say } from '../../text/compare'
import { type Axis, countAxis, timeAxis } from '../axes'
import { bucketAt, type Held, held, last } from '../columns'
import { gapsOf } from '../gaps'
import { lines } from '../lines'
import type { Colour } from '../palette'
import { formatValue, valueAxis } from '../units'
import type { ChartSet, Quantity, ShownChart } from './declaration'

/** Metrics of the series API. For another chart of all compared runs, add an entry. */
export const OVERLAYS = [
  { metric: 'step_us', label: 'Step time' },
  { metric: 'data_wait_us', label: 'Data wait' },
  { metric: 'data_stall_fraction', label: 'Share of time waiting' },
  { metric: 'queue_depth', label: 'Batches ready' },
] as const

export type OverlayMetric = (typeof OVERLAYS)[number]['metric']

const ALONG = ['step', 'time', 'epoch', 'sample'] as const
export type Along = (typeof ALONG)[number]

/** By place among the compared runs: the colours are those of Okabe and Ito, the dashes are for readers who do not distinguish them. */
const RUN_STYLES: readonly { colour: Colour; dash: readonly number[] }[] = [
  { colour: 'ink', dash: [] },
  { colour: 'run-1', dash: [7, 3] },
  { colour: 'run-2', dash: [2, 2.5] },
  { colour: 'run-3', dash: [9, 3, 2, 3] },
  { colour: 'run-4', dash: [4, 2] },
  { colour: 'run-5', dash: [12, 4] },
  { colour: 'run-6', dash: [2, 7] },
  { colour: 'run-7', dash: [7, 2, 1.5, 2, 1.5, 2] },
]

export function runStyle(place: number): { colour: Colour; dash: readonly number[] } {
  return RUN_STYLES[place] ?? { colour: 'ink', dash: [] }
}

/** Where batch sizes differ, a step is not the same work: then runs are drawn along samples, unless the address says otherwise. */
export const axesOf = (per: Comparison['per']) => (per === 'samples' ? ALONG : ALONG.slice(0, 3))

/** The axis in the address, else the default. */
export function drawnBy(
  query: URLSearchParams,
  per: Comparison['per'],
): { metric: OverlayMetric; along: Along } {
  const { metric } = OVERLAYS.find(one => one.metric === query.get('metric')) ?? OVERLAYS[0]
  const along = axesOf(per).find(one => one === query.get('by'))
  return { metric, along: along ?? (per === 'samples' ? 'sample' : 'step') }
}

/** One run's line: `label` is the run's, `place` its place among those compared. */
export interface RunLine extends Quantity {
  place: number
  /** As it is drawn: each value as long as it holds. */
  held: Held
}

export interface Overlay extends ChartSet {
  quantities: readonly RunLine[]
  /** Runs that are not drawn, each with the reason. */
  left: readonly string[]
}

export function overlayOf(
  { runs }: Comparison,
  pages: ReadonlyMap<string, SeriesPage>,
  metric: OverlayMetric,
  along: Along,
): Overlay {
  const quantities: RunLine[] = []
  const left: string[] = []
  runs.forEach((run, place) => {
    const page = pages.get(run.run.run_id)
    const series = page?.series.find(one => one.metric === metric)
    const at = series && positions(run, series, along)
    if (!series || series.missing !== null) left.push(say.notDrawn(run.label, series?.missing ?? say.none))
    else if (!at) left.push(along === 'epoch' ? say.noEpochs(run.label) : say.noBatchSize(run.label))
    else {
      const line = { name: metric, label: run.label, unit: series.unit, at, values: series.mean, place }
      quantities.push({ ...line, held: heldAlong(page, series, at, along) })
    }
  })
  // The positions of the longest run: those of the others lie among them.
  const [at = []] = quantities.map(line => line.at).toSorted((a, b) => (b.at(-1) ?? 0) - (a.at(-1) ?? 0))
  const ends = quantities.map(({ held }) => held.until.at(-1) ?? 0)
  const across = axisAlong(along, Math.max(...ends, Number.EPSILON))
  const caption = OVERLAYS.find(one => one.metric === metric)?.label ?? metric
  return {
    charts: quantities.length > 0 ? [chartOf(quantities, across, caption)] : [],
    quantities,
    left,
    across,
    at,
    caption,
    position: { name: along === 'time' ? 'at_s' : along, label: say.axes[along] },
  }
}

function chartOf(quantities: readonly RunLine[], across: Axis, title: string): ShownChart {
  const ends = quantities.map(({ label, unit, values }) => `${label} ${formatValue(unit, last(values))}`)
  const columns = quantities.map(({ values }) => values)
  return {
    label: `${title}: ${ends.join(', ')}`,
    quantities,
    drawn: lines({
      height: 300,
      across,
      up: valueAxis(quantities[0]?.unit ?? 'count', columns),
      layers: quantities.map(layerOf),
      isLabelled: true,
      hasNames: true,
    }),
  }
}

function layerOf({ held, values: all, label, place }: RunLine) {
  const { colour, dash } = runStyle(place)
  const { at, until, index } = held
  const values = index.map(each => all[each] ?? null)
  return { at, until, values, label, dash, stroke: colour, width: place === 0 ? 1.8 : 1.6 }
}

/** Over time lines break at pauses, which take no steps, epochs or samples. */
function heldAlong(
  page: SeriesPage | undefined,
  { count }: Series,
  at: readonly number[],
  along: Along,
): Held {
  if (along === 'time' && page) return held(at, (page.end_us ?? 0) / 1e6, gapsOf(page))
  const [last = 0, before = last] = [at.at(-1), at.at(-2)]
  const share = (count.at(-1) ?? 0) / (count.at(-2) || Number.POSITIVE_INFINITY)
  return held(at, last + (last - before) * share, [])
}

function axisAlong(along: Along, to: number): Axis {
  if (along === 'time') return timeAxis(0, to, say.start)
  return countAxis(to, at =>
    say.at[along](along === 'epoch' && at > 0 ? at.toFixed(1) : formatNumber(Math.round(at))),
  )
}

/** `null`: its epochs or its batch size, which the axis needs, are not known. */
function positions(run: ComparedRun, series: Series, along: Along): readonly number[] | null {
  if (along === 'time') return series.at_us.map(at => at / 1e6)
  if (along === 'step') return series.first_index
  const { batch_samples: samples } = run
  if (along === 'sample') return samples === null ? null : series.first_index.map(step => step * samples)
  return run.epochs.length > 0 ? series.first_index.map(step => epochAt(run.epochs, step)) : null
}

/** `2.5`: half of the third epoch is over. The last one known is as long as the one before it. */
export function epochAt(epochs: ComparedRun['epochs'], step: number): number {
  const starts = epochs.map(epoch => epoch.first_step_index)
  const index = bucketAt(starts, step) ?? 0
  const here = epochs[index]
  if (!here) return 0
  const start = here.first_step_index
  const length =
    index + 1 < starts.length ? (starts[index + 1] ?? 0) - start : start - (starts[index - 1] ?? 0)
  return here.epoch_index + (length > 0 ? (step - start) / length : 0)
}
