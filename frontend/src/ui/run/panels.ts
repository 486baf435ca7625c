/** What each panel of the Run page draws: columns of figures in, descriptions of charts out. */
import type { Run, SeriesPage, WorkersPage } from '../../api/names'
import type { Heatmap } from '../../charts/heatmap'
import type { Layer, Mark, TimePanel } from '../../charts/panel'
import { durationTick, formatDuration, formatElapsed, formatFraction, formatNumber } from '../../format'
import {
  bucketAt,
  type Column,
  type LineColumns,
  last,
  lineColumns,
  measured,
  quantile,
  type Spread,
  type StepColumns,
  stepColumns,
} from '../../store/columns'
import { charts as say } from '../../text/charts'
import { type Happened, marksOf } from './marks'

/** The time axis that all panels of a page share. */
export interface Frame {
  fromS: number
  toS: number
  marks: readonly Mark[]
  /** What stands at the right edge is so now; else it was so there. */
  endsNow: boolean
  /** Of the judged loader; `null` without workers, or where they are not known. */
  prefetchCapacity: number | null
}

/** Everything that is drawn from the series, made once for each reading of them. */
export interface Panels {
  frame: Frame
  steps: StepColumns
  queue: LineColumns | null
  util: LineColumns | null
  stepPanel: TimePanel
  queuePanel: TimePanel | null
  utilPanel: TimePanel | null
}

export type Shape = Happened & Pick<Run, 'loaders'> & { endsNow: boolean }

/** `null`: no step was recorded yet. */
export function panelsOf(run: Shape, page: SeriesPage, isWhole: boolean): Panels | null {
  const steps = stepColumns(page)
  if (!steps) return null
  const frame = frameOf(run, page, steps, isWhole)
  const [queue, util] = [lineColumns(page, 'queue_depth'), lineColumns(page, 'gpu_util_fraction')]
  return {
    frame,
    steps,
    queue,
    util,
    stepPanel: steps.spread ? spreadPanel(frame, steps, steps.spread) : stepPanel(frame, steps),
    queuePanel: queue && queuePanel(frame, queue),
    utilPanel: util && utilPanel(frame, util, steps),
  }
}

/** Values this far above the ordinary ones are cut off and told in words: they would flatten all others. */
const OUTLIER = 3
const HEAD_ROOM = 1.08

export function frameOf(run: Shape, page: SeriesPage, steps: StepColumns, isWhole: boolean): Frame {
  const fromS = isWhole ? 0 : (steps.atS[0] ?? 0)
  const settings = run.loaders.find(loader => loader.loader === page.loader)?.settings
  const workers = Number(settings?.num_workers ?? 0)
  const toS = Math.max(steps.atS.at(-1) ?? 0, fromS + 1)
  // The newest bucket begins at the right edge: what happened during it, or after the last step, is shown there.
  const marks = marksOf(run, page).map(mark => (isWhole ? { ...mark, atS: Math.min(mark.atS, toS) } : mark))
  return {
    fromS,
    toS,
    marks,
    endsNow: run.endsNow,
    prefetchCapacity: workers > 0 ? workers * Number(settings?.prefetch_factor ?? 2) : null,
  }
}

export function stepPanel(frame: Frame, steps: StepColumns): TimePanel {
  const loaded = steps.copy ? add(steps.compute, steps.copy) : steps.compute
  const isCopied = steps.copy !== null
  return {
    ...shared(frame),
    height: 270,
    atS: steps.atS,
    layers: [
      { values: steps.total, stroke: 'wait', fill: 'hatch', label: say.parts.wait, labelColour: 'wait' },
      {
        values: loaded,
        stroke: 'copy',
        fill: 'copy-fill',
        label: isCopied ? say.parts.copy : null,
        labelColour: 'copy',
      },
      {
        values: steps.compute,
        stroke: 'compute',
        fill: 'compute-fill',
        label: say.parts.compute,
        labelColour: 'compute',
      },
    ],
    ...durationAxis(steps.total),
    hasTimeLabels: true,
  }
}

/** Percentiles do not add up, so there are no parts: three lines of the whole step. */
export function spreadPanel(frame: Frame, { atS }: StepColumns, spread: Spread): TimePanel {
  const layer = (name: keyof Spread, stroke: Layer['stroke'], isDashed: boolean): Layer => ({
    ...line(spread[name], stroke, null, say.spread[name]),
    isDashed,
  })
  return {
    ...shared(frame),
    height: 270,
    atS,
    layers: [layer('p99', 'ink-3', true), layer('p95', 'compute', true), layer('p50', 'ink', false)],
    isOverlaid: true,
    ...durationAxis(spread.p99),
    hasTimeLabels: true,
  }
}

function durationAxis(values: Column) {
  const highest = Math.max(...measured(values), 1)
  const ordinary = quantile(measured(values), 0.95)
  const top = highest > OUTLIER * ordinary ? ordinary * 2 : highest
  return {
    top: top * HEAD_ROOM,
    topLabel: top < highest ? say.highest(formatDuration(highest)) : null,
    tick: durationTick,
    ticks: null,
  }
}

export function queuePanel(frame: Frame, queue: LineColumns): TimePanel {
  const now = last(queue.mean)
  const top = frame.prefetchCapacity ?? Math.max(...measured(queue.mean), 1)
  return {
    ...shared(frame),
    height: 82,
    atS: queue.atS,
    layers: [line(queue.mean, 'ink', 'sunk', now === null ? null : said(frame, formatNumber(rounded(now))))],
    top,
    tick: formatNumber,
    ticks: [0, top / 2, top],
  }
}

/** What NVML says, at the instants of its samples, and beside it what the device's own clock says, where it was read. */
export function utilPanel(frame: Frame, util: LineColumns, steps: StepColumns): TimePanel {
  const now = last(util.mean)
  const busy = line(util.mean, 'compute', null, now === null ? null : said(frame, formatFraction(now)))
  const idleNow = steps.idle && last(steps.idle)
  const idle = steps.idle && idleBetween(steps, util.atS)
  return {
    ...shared(frame),
    height: 82,
    atS: util.atS,
    layers: idle
      ? [busy, { ...line(idle, 'wait', null, say.idleNow(formatFraction(idleNow))), isDashed: true }]
      : [busy],
    isOverlaid: idle !== null,
    top: 1,
    ticks: [0, 0.5, 1],
    tick: (value, largest) => (value === largest ? formatFraction(value) : formatNumber(value * 100)),
  }
}

/** The mean of what was measured from one instant of the samples to the next: they lie apart by their own rhythm. */
function idleBetween({ atS, idle }: StepColumns, instants: readonly number[]): Column {
  return instants.map((fromS, index) => {
    const toS = instants[index + 1] ?? Infinity
    const here = idle?.filter((_, step) => (atS[step] ?? 0) >= fromS && (atS[step] ?? 0) < toS) ?? []
    const before = bucketAt(atS, fromS)
    return mean(measured(here)) ?? (before === null ? null : (idle?.[before] ?? null))
  })
}

/** Both, over all that is shown, where they cannot both be shares of the same time. */
export function disagreement(
  util: LineColumns | null,
  steps: StepColumns,
): [util: number, idle: number] | null {
  const [busy, idle] = [util && mean(measured(util.mean)), steps.idle && mean(measured(steps.idle))]
  return busy !== null && idle !== null && busy + idle > 1 + TOLERANCE ? [busy, idle] : null
}

/** Means over slightly different spans differ by so much anyway. */
const TOLERANCE = 0.05

function mean(values: readonly number[]): number | null {
  return values.length === 0 ? null : values.reduce((sum, value) => sum + value, 0) / values.length
}

export function heatmapOf(frame: Frame, page: WorkersPage | null): Heatmap | null {
  const map = page?.heatmap
  if (!page || !map || map.counts.length === 0) return null
  const medianUs = newestMedian(map.counts, map.edges_us)
  return {
    fromS: frame.fromS,
    toS: frame.toS,
    atS: map.at_us.map(at => at / 1e6),
    endS: map.end_us / 1e6,
    edgesUs: map.edges_us,
    counts: map.counts,
    limitUs: page.limit_us,
    medianUs,
    medianLabel: said(frame, formatDuration(medianUs === null ? null : roundedUs(medianUs))),
    limitLabel: say.limit(formatDuration(page.limit_us)),
    startLabel: say.start,
  }
}

/** What the crosshair stands on, in one line. */
export function readout(
  atS: number,
  { steps, queue, util }: Pick<Panels, 'steps' | 'queue' | 'util'>,
): string {
  const index = bucketAt(steps.atS, atS)
  if (index === null) return formatElapsed(atS)
  const part = (column: Column | null, name: string) =>
    column === null ? null : `${name} ${formatDuration(column[index] ?? null)}`
  const ready = valueAt(queue, atS)
  const busy = valueAt(util, atS)
  const idle = steps.idle?.[index] ?? null
  return [
    formatElapsed(Math.round(atS), steps.atS.at(-1)),
    say.step(formatNumber(steps.firstIndex[index] ?? null)),
    ...(steps.spread
      ? (['p50', 'p95', 'p99'] as const).map(name => part(steps.spread?.[name] ?? null, say.spread[name]))
      : [
          part(steps.wait, say.parts.wait),
          part(steps.copy, say.parts.copy),
          part(steps.compute, say.parts.compute),
        ]),
    ready === null ? null : say.ready(formatNumber(rounded(ready))),
    busy === null ? null : say.busy(formatFraction(busy)),
    idle === null ? null : say.idle(formatFraction(idle)),
  ]
    .filter(Boolean)
    .join(' · ')
}

function said({ endsNow }: Frame, value: string): string {
  return endsNow ? say.now(value) : value
}

export function valueAt(columns: LineColumns | null, atS: number): number | null {
  const index = columns ? bucketAt(columns.atS, atS) : null
  return index === null ? null : (columns?.mean[index] ?? null)
}

function shared(frame: Frame) {
  const { fromS, toS, marks } = frame
  return { fromS, toS, marks, topLabel: null, hasTimeLabels: false, startLabel: say.start }
}

function line(values: Column, stroke: Layer['stroke'], fill: 'sunk' | null, label: string | null): Layer {
  return { values, stroke, fill, label, labelColour: stroke }
}

function add(a: Column, b: Column): Column {
  return a.map((value, index) => (value === null ? null : value + (b[index] ?? 0)))
}

function rounded(value: number): number {
  return Math.round(value * 10) / 10
}

/** A bin's middle is known to a bin's width only: two digits. */
function roundedUs(us: number): number {
  return Number(us.toPrecision(2))
}

/** Median load time of the newest column that has batches: the middle of its bin. */
function newestMedian(counts: readonly (readonly number[])[], edgesUs: readonly number[]): number | null {
  const column = counts.findLast(bins => bins.some(count => count > 0))
  if (!column) return null
  const half = column.reduce((sum, count) => sum + count, 0) / 2
  let below = 0
  const bin = column.findIndex(count => {
    below += count
    return below >= half
  })
  return Math.sqrt((edgesUs[bin] ?? 1) * (edgesUs[bin + 1] ?? 1))
}
