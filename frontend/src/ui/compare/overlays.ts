/** What the chart over all compared runs draws: series and a comparison in, lines along one axis out. */
import type { ComparedRun, Comparison, Series, SeriesPage } from '../../api/names'
import type { Overlay, RunLine } from '../../charts/overlay'
import {
  durationTick,
  formatDuration,
  formatElapsed,
  formatFraction,
  formatNumber,
  NOT_MEASURED,
} from '../../format'
import { bucketAt, measured, quantile } from '../../store/columns'
import { METRICS, type OverlayMetric } from '../../store/compare'
import { compare as say } from '../../text/compare'

const AXES = ['step', 'time', 'epoch', 'sample'] as const
export type Axis = (typeof AXES)[number]

export interface Drawn {
  overlay: Overlay | null
  /** Runs that are not drawn, each with the reason. */
  missing: readonly string[]
}

/** Where batch sizes differ, a step is not the same work: then runs lie along samples too, unless told otherwise. */
export const axesOf = (per: Comparison['per']) => (per === 'samples' ? AXES : AXES.slice(0, 3))

/** What the address says, or what is usual. */
export function drawnBy(
  query: URLSearchParams,
  per: Comparison['per'],
): { metric: OverlayMetric; axis: Axis } {
  const metric = METRICS.find(one => one === query.get('metric')) ?? 'step_us'
  const axis = axesOf(per).find(one => one === query.get('by'))
  return { metric, axis: axis ?? (per === 'samples' ? 'sample' : 'step') }
}

/** Values this far above the ordinary ones are cut off: they would flatten all others. */
const OUTLIER = 3
const HEAD_ROOM = 1.08

export function overlayOf(
  { runs }: Comparison,
  pages: ReadonlyMap<string, SeriesPage>,
  metric: OverlayMetric,
  axis: Axis,
): Drawn {
  const lines: RunLine[] = []
  const missing: string[] = []
  runs.forEach((run, place) => {
    const series = pages.get(run.run.run_id)?.series.find(one => one.metric === metric)
    const at = series && positions(run, series, axis)
    if (!series || series.missing !== null) missing.push(say.notDrawn(run.label, series?.missing ?? say.none))
    else if (!at) missing.push(axis === 'epoch' ? say.noEpochs(run.label) : say.noBatchSize(run.label))
    else lines.push({ label: run.label, place, at, values: series.mean })
  })
  return { overlay: lines.length > 0 ? chart(lines, metric, axis) : null, missing }
}

function chart(lines: readonly RunLine[], metric: OverlayMetric, axis: Axis): Overlay {
  const ordinary = Math.max(...lines.map(each => quantile(measured(each.values), 0.95)))
  const highest = Math.max(...lines.flatMap(each => measured(each.values)))
  const top = (highest > OUTLIER * ordinary ? ordinary * 2 : highest) * HEAD_ROOM
  const to = Math.max(...lines.map(each => each.at.at(-1) ?? 0), Number.EPSILON)
  return {
    height: 300,
    to,
    isTime: axis === 'time',
    lines,
    top: metric === 'data_stall_fraction' ? Math.min(1, top || 1) : top || 1,
    tick: ticking(metric),
    label: at => (axis === 'time' ? formatElapsed(at, to) : formatNumber(at)),
    startLabel: say.at[axis](axis === 'time' ? say.start : '0'),
  }
}

function ticking(metric: OverlayMetric): Overlay['tick'] {
  if (metric === 'queue_depth') return formatNumber
  return metric === 'data_stall_fraction' ? formatFraction : durationTick
}

export function formatMetric(metric: OverlayMetric, value: number | null): string {
  if (value === null) return NOT_MEASURED
  if (metric === 'queue_depth') return value.toFixed(1)
  return metric === 'data_stall_fraction' ? formatFraction(value) : formatDuration(value)
}

/** `null`: it has no epochs, or no batch size, to be laid along. */
function positions(run: ComparedRun, series: Series, axis: Axis): readonly number[] | null {
  if (axis === 'time') return series.at_us.map(at => at / 1e6)
  if (axis === 'step') return series.first_index
  const { batch_samples: samples } = run
  if (axis === 'sample') return samples === null ? null : series.first_index.map(step => step * samples)
  return run.epochs.length > 0 ? series.first_index.map(step => epochAt(run.epochs, step)) : null
}

/** `2.5`: half of the third epoch is over. The last one known is as long as the one before it. */
export function epochAt(epochs: ComparedRun['epochs'], step: number): number {
  const index = bucketAt(
    epochs.map(epoch => epoch.first_step_index),
    step,
  )
  const here = epochs[index ?? 0]
  const [next, before] = [epochs[(index ?? 0) + 1], epochs[(index ?? 0) - 1]]
  if (!here) return 0
  const length = next
    ? next.first_step_index - here.first_step_index
    : here.first_step_index - (before?.first_step_index ?? 0)
  return here.epoch_index + (length > 0 ? (step - here.first_step_index) / length : 0)
}

/** What the crosshair stands on in every run, in one line. */
export function overlayReadout(overlay: Overlay, metric: OverlayMetric, axis: Axis, at: number): string {
  const where = say.at[axis](axis === 'epoch' ? at.toFixed(1) : overlay.label(Math.round(at)))
  const values = overlay.lines.map(each => {
    const value = lineAt(each, at)
    return value === undefined ? null : `${each.label} ${formatMetric(metric, value)}`
  })
  return [where, ...values].filter(Boolean).join(' · ')
}

/** `undefined`: the run had ended before. */
export function lineAt({ at, values }: RunLine, position: number): number | null | undefined {
  const index = bucketAt(at, position)
  const last = at.at(-1) ?? 0
  const stride = (at.at(-1) ?? 0) - (at.at(-2) ?? 0)
  if (index === null || position > last + stride) return undefined
  return values[index] ?? null
}
