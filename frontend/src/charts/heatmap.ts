/** Load time per batch over run time: darker is more batches, above the dashed line training waits. */
import { durationUnit, formatNumber } from '../format'
import type { Crosshair } from './crosshair'
import { createSurface, gutters, type Mounted, spread, timeLabel, timeTicks } from './frame'
import { FONT, LABEL_FONT, palette } from './palette'

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

export function mountHeatmap(element: HTMLElement, first: Heatmap, crosshair: Crosshair): Mounted<Heatmap> {
  let data = first
  const surface = createSurface(element, () => HEIGHT, draw)
  const line = document.createElement('i')
  line.className = 'crosshair'
  element.append(line)
  const unsubscribe = crosshair.subscribe(showCrosshair)

  function scale(): { x(atS: number): number; y(us: number): number; left: number; right: number } {
    const width = element.clientWidth
    const { left, right } = gutters(width)
    const [low, high] = extent(data).map(Math.log) as [number, number]
    return {
      left,
      right: width - right,
      x: atS => left + ((width - left - right) * (atS - data.fromS)) / (data.toS - data.fromS),
      y: us => HEIGHT - BOTTOM - ((HEIGHT - TOP - BOTTOM) * (Math.log(us) - low)) / (high - low),
    }
  }

  function showCrosshair(atS: number | null): void {
    const { x, left, right } = scale()
    const at = atS === null ? -1 : x(atS)
    line.hidden = at < left || at > right
    line.style.left = `${at}px`
  }

  function draw(): void {
    const { context } = surface.begin()
    const { x, y, left, right } = scale()
    drawGrid(context, x, y, left, right)
    drawCells(context, x, y, left, right)
    drawLimit(context, y, left, right)
  }

  function drawGrid(context: CanvasRenderingContext2D, x: To, y: To, left: number, right: number): void {
    context.strokeStyle = palette().hair
    context.fillStyle = palette()['ink-3']
    context.font = FONT
    context.textAlign = 'center'
    for (const at of timeTicks(data.fromS, data.toS, right - left)) {
      stroke(context, x(at), TOP, x(at), HEIGHT - BOTTOM)
      context.fillText(timeLabel(at, data.toS, data.startLabel), x(at), HEIGHT - 7)
    }
    context.textAlign = 'right'
    for (const us of loadTicks(extent(data), y)) {
      stroke(context, left, y(us), right, y(us))
      const [divisor, unit] = durationUnit(us)
      context.fillText(`${formatNumber(us / divisor)} ${unit}`, left - 8, y(us) + 4)
    }
    context.textAlign = 'left'
  }

  function drawCells(context: CanvasRenderingContext2D, x: To, y: To, left: number, right: number): void {
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

  function drawLimit(context: CanvasRenderingContext2D, y: To, left: number, right: number): void {
    const inside = (us: number | null): us is number =>
      us !== null && us >= extent(data)[0] && us <= extent(data)[1]
    const labels = [
      ...(inside(data.medianUs)
        ? [{ at: y(data.medianUs), text: data.medianLabel, colour: palette().heat }]
        : []),
      ...(inside(data.limitUs)
        ? [{ at: y(data.limitUs), text: data.limitLabel, colour: palette().wait }]
        : []),
    ]
    if (inside(data.limitUs)) {
      context.strokeStyle = palette().wait
      context.lineWidth = 1.6
      context.setLineDash([5, 3])
      stroke(context, left, y(data.limitUs), right, y(data.limitUs))
      context.setLineDash([])
    }
    const tops = spread(
      labels.map(label => label.at),
      15,
    )
    context.font = LABEL_FONT
    labels.forEach((label, index) => {
      context.fillStyle = label.colour
      context.fillText(label.text, right + 8, (tops[index] ?? 0) + 4)
    })
  }

  surface.canvas.onpointermove = event => {
    const { left, right } = scale()
    const share = (event.offsetX - left) / (right - left)
    crosshair.move(share < 0 || share > 1 ? null : data.fromS + share * (data.toS - data.fromS))
  }
  surface.canvas.onpointerleave = () => crosshair.move(null)
  showCrosshair(null)
  draw()

  return {
    update(next) {
      data = next
      draw()
    },
    destroy() {
      unsubscribe()
      surface.destroy()
      line.remove()
    },
  }
}

type To = (value: number) => number

function stroke(context: CanvasRenderingContext2D, x1: number, y1: number, x2: number, y2: number): void {
  context.beginPath()
  context.moveTo(x1, y1)
  context.lineTo(x2, y2)
  context.stroke()
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
export function loadTicks([low, high]: readonly [number, number], y: To): readonly number[] {
  const ticks: number[] = []
  for (let power = 1; power <= high; power *= 10) {
    for (const us of [power, 2 * power, 5 * power]) {
      const before = ticks.at(-1)
      if (us >= low && us <= high && (before === undefined || y(before) - y(us) >= TICK_ROOM)) ticks.push(us)
    }
  }
  return ticks
}
