/** Load time per batch over run time: darker is more batches, above the dashed line training waits. */
import { formatDuration } from '../format'
import { type Axis, drawAxis, drawValueGrid, gutters, type Scale, scaleOf } from './axes'
import { type Held, highest } from './columns'
import { drawEndLabels, type EndLabel } from './labels'
import { area, type Context, limitLine } from './pen'
import type { Drawn } from './surface'

export interface Heatmap {
  across: Axis
  /** From when and until when each column is drawn, in seconds of the run clock. */
  columns: Held
  /** Of the bins of load time, ascending: one more than there are bins. */
  edgesUs: readonly number[]
  /** Batches: `counts[column][bin]`. At most 120 columns and about 26 bins: the service sends no more. */
  counts: readonly (readonly number[])[]
  limitUs: number | null
  limitLabel: string
  /** About: it lies in a bin, and has no figure of its own. */
  medianUs: number | null
}

const MEDIAN = 'median'

/** CSS pixels. */
const HEIGHT = 160
const TOP = 10
const BOTTOM = 24
/** A limit further away than this factor would squeeze the batches together. */
const NEAR = 3
/** Factor between a limit at the edge and that edge. */
const MARGIN = 1.15
/** Factor between the ends of the scale, at least. */
const LEAST_RATIO = 4
/** Between two load-time ticks, in CSS pixels. */
const TICK_ROOM = 24

/** Load times lie on a logarithmic scale. */
export function heatmap(data: Heatmap): Drawn {
  const ends = extent(data)
  const [low, high] = ends.map(Math.log) as [number, number]
  const share = (us: number) => (Math.log(us) - low) / (high - low)
  return {
    height: HEIGHT,
    scale: width => scaleOf(data.across, width, gutters(width), [TOP, HEIGHT - BOTTOM], share),
    draw(context, scale) {
      drawAxis(context, scale, data.across, true)
      drawValueGrid(context, scale, loadTicks(ends, scale.y), formatDuration)
      drawCells(context, data, scale)
      drawLimit(context, data, ends, scale)
    },
  }
}

function drawCells(
  context: Context,
  { counts, columns, edgesUs }: Heatmap,
  { x, y, left, right }: Scale,
): void {
  const most = highest(counts.flat()) || 1
  columns.index.forEach((column, place) => {
    // On whole pixels: seams between half-covered ones would show as stripes.
    const from = Math.round(Math.max(left, x(columns.at[place] ?? 0)))
    const to = Math.round(Math.min(right, x(columns.until[place] ?? 0)))
    if (to <= from) return
    counts[column]?.forEach((count, bin) => {
      if (count === 0) return
      const [upper, lower] = [y(edgesUs[bin + 1] ?? 1), y(edgesUs[bin] ?? 1)]
      // The root keeps a rare slow batch visible beside a thousand ordinary ones.
      context.globalAlpha = 0.06 + 0.94 * Math.sqrt(count / most)
      area(context, 'heat', [from, upper, to - from, lower - upper + 0.3])
    })
  })
  context.globalAlpha = 1
}

function drawLimit(
  context: Context,
  { limitUs, limitLabel, medianUs }: Heatmap,
  [low, high]: readonly [number, number],
  scale: Scale,
): void {
  const isShown = (us: number | null): us is number => us !== null && us >= low && us <= high
  const labels: EndLabel[] = []
  if (isShown(medianUs)) labels.push({ text: MEDIAN, colour: 'heat', y: scale.y(medianUs) })
  if (isShown(limitUs)) {
    limitLine(context, scale.left, scale.y(limitUs), scale.right, scale.y(limitUs))
    labels.push({ text: limitLabel, colour: 'wait', y: scale.y(limitUs) })
  }
  drawEndLabels(context, labels, scale)
}

/** All bins and, where it is near them, the limit; a run whose batches all take as long still gets a scale. */
export function extent({
  edgesUs,
  limitUs,
}: Pick<Heatmap, 'edgesUs' | 'limitUs'>): [lowUs: number, highUs: number] {
  const [first, last] = [Math.max(1, edgesUs[0] ?? 1), Math.max(1, edgesUs.at(-1) ?? 1)]
  const isNear = limitUs !== null && limitUs > first / NEAR && limitUs < last * NEAR
  const low = isNear ? Math.min(first, limitUs / MARGIN) : first
  const high = isNear ? Math.max(last, limitUs * MARGIN) : last
  const spare = Math.sqrt(Math.max(1, (LEAST_RATIO * low) / high))
  return [low / spare, high * spare]
}

/** 1, 2, 5, 10 … that lie in the scale, as many as have room. */
export function loadTicks([low, high]: readonly [number, number], y: Scale['y']): readonly number[] {
  const ticks: number[] = []
  for (let power = 1; power <= high; power *= 10) {
    for (const us of [power, 2 * power, 5 * power]) {
      const before = ticks.at(-1)
      if (us >= low && us <= high && (before === undefined || y(before) - y(us) >= TICK_ROOM)) ticks.push(us)
    }
  }
  return ticks
}
