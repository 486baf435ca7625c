/** Load time per batch over run time: darker is more batches, above the dashed line training waits. */
import { durationUnit, formatNumber } from '../format'
import { drawTimeGrid, drawValueGrid, line, type Scale, scaleOf } from './axes'
import type { Crosshair } from './crosshair'
import { type Drawing, mountDrawing } from './drawing'
import { gutters, type Mounted, spread } from './frame'
import { LABEL_FONT, palette } from './palette'

export interface Heatmap {
  fromS: number
  toS: number
  /** Start of each column; the last ends at `endS`. */
  atS: readonly number[]
  endS: number
  edgesUs: readonly number[]
  /** `counts[column][bin]` */
  counts: readonly (readonly number[])[]
  limitUs: number | null
  medianUs: number | null
  medianLabel: string
  limitLabel: string
  startLabel: string
}

const HEIGHT = 178
const TOP = 10
const BOTTOM = 24
/** A limit further away than this factor would squeeze the batches together. */
const NEAR = 3
/** Above and below a limit at the edge. */
const MARGIN = 1.15
/** Between the ends of the scale. */
const LEAST_RATIO = 4
/** Between two load-time ticks. */
const TICK_ROOM = 24

const DRAWING: Drawing<Heatmap> = { height: () => HEIGHT, scale: heatScale, draw: drawHeatmap }

export function mountHeatmap(element: HTMLElement, first: Heatmap, crosshair: Crosshair): Mounted<Heatmap> {
  return mountDrawing(element, first, DRAWING, { crosshair })
}

function drawHeatmap(context: CanvasRenderingContext2D, data: Heatmap, scale: Scale): void {
  drawTimeGrid(context, scale, data, true)
  drawValueGrid(context, scale, loadTicks(extent(data), scale.y), loadLabel)
  drawCells(context, data, scale)
  drawLimit(context, data, scale)
}

/** Load times on a logarithmic scale. */
function heatScale(data: Heatmap, width: number): Scale {
  const [low, high] = extent(data).map(Math.log) as [number, number]
  return scaleOf(
    data,
    width,
    gutters(width),
    [TOP, HEIGHT - BOTTOM],
    us => (Math.log(us) - low) / (high - low),
  )
}

function loadLabel(us: number): string {
  const [divisor, unit] = durationUnit(us)
  return `${formatNumber(us / divisor)} ${unit}`
}

function drawCells(context: CanvasRenderingContext2D, data: Heatmap, { x, y, left, right }: Scale): void {
  const most = Math.max(1, ...data.counts.flat())
  context.fillStyle = palette().heat
  data.counts.forEach((column, index) => {
    // On whole pixels: seams between half-covered ones would show as stripes.
    const from = Math.round(Math.max(left, x(data.atS[index] ?? 0)))
    const to = Math.round(Math.min(right, x(data.atS[index + 1] ?? data.endS)))
    if (to <= from) return
    column.forEach((count, bin) => {
      if (count === 0) return
      const [upper, lower] = [y(data.edgesUs[bin + 1] ?? 1), y(data.edgesUs[bin] ?? 1)]
      // The root keeps a rare slow batch visible beside a thousand ordinary ones.
      context.globalAlpha = 0.06 + 0.94 * Math.sqrt(count / most)
      context.fillRect(from, upper, to - from, lower - upper + 0.3)
    })
  })
  context.globalAlpha = 1
}

function drawLimit(context: CanvasRenderingContext2D, data: Heatmap, { y, left, right }: Scale): void {
  const [low, high] = extent(data)
  const labels = [
    { us: data.medianUs, text: data.medianLabel, colour: palette().heat },
    { us: data.limitUs, text: data.limitLabel, colour: palette().wait },
  ].filter(label => label.us !== null && label.us >= low && label.us <= high)
  if (data.limitUs !== null && data.limitUs >= low && data.limitUs <= high) {
    context.strokeStyle = palette().wait
    context.lineWidth = 1.6
    context.setLineDash([5, 3])
    line(context, left, y(data.limitUs), right, y(data.limitUs))
    context.setLineDash([])
  }
  const places = spread(
    labels.map(label => y(label.us ?? 1)),
    15,
  )
  context.font = LABEL_FONT
  context.textAlign = 'left'
  labels.forEach((label, index) => {
    context.fillStyle = label.colour
    context.fillText(label.text, right + 8, (places[index] ?? 0) + 4)
  })
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
