/** The grid behind a chart over run time: a line and a label for each tick. */
import { type Gutters, timeLabel, timeTicks } from './frame'
import { FONT, palette } from './palette'
import type { TimePanel } from './panel'

/** Where a chart draws, in CSS pixels, and where its values lie there. */
export interface Scale {
  left: number
  right: number
  top: number
  bottom: number
  x(atS: number): number
  y(value: number): number
  /** The instant at a distance from the chart's left edge; `null`: beside the drawing. */
  atS(left: number): number | null
}

interface Extent {
  fromS: number
  toS: number
}

export function scaleOf(
  { fromS, toS }: Extent,
  width: number,
  { left, right: spare }: Gutters,
  [top, bottom]: readonly [number, number],
  share: (value: number) => number,
): Scale {
  const right = width - spare
  return {
    left,
    right,
    top,
    bottom,
    x: atS => left + ((right - left) * (atS - fromS)) / (toS - fromS),
    y: value => bottom - (bottom - top) * share(value),
    atS: x => (x < left || x > right ? null : fromS + ((x - left) / (right - left)) * (toS - fromS)),
  }
}

export function line(
  context: CanvasRenderingContext2D,
  x1: number,
  y1: number,
  x2: number,
  y2: number,
): void {
  context.beginPath()
  context.moveTo(x1, y1)
  context.lineTo(x2, y2)
  context.stroke()
}

export function drawTimeGrid(
  context: CanvasRenderingContext2D,
  scale: Scale,
  { fromS, toS, startLabel, timeTick }: Extent & Pick<TimePanel, 'startLabel' | 'timeTick'>,
  isLabelled: boolean,
): void {
  const label = (at: number) => (timeTick ? timeTick(at) : timeLabel(at, toS, startLabel))
  drawColumns(context, scale, timeTicks(fromS, toS, scale.right - scale.left), isLabelled ? label : null)
}

/** A line from top to bottom for each tick, with its label below. */
export function drawColumns(
  context: CanvasRenderingContext2D,
  scale: Scale,
  ticks: readonly number[],
  label: ((at: number) => string) | null,
): void {
  begin(context, 'center')
  for (const at of ticks) {
    line(context, scale.x(at), scale.top, scale.x(at), scale.bottom)
    if (label) context.fillText(label(at), scale.x(at), scale.bottom + 17)
  }
}

export function drawValueGrid(
  context: CanvasRenderingContext2D,
  scale: Scale,
  ticks: readonly number[],
  label: (value: number) => string,
): void {
  begin(context, 'right')
  for (const value of ticks) {
    line(context, scale.left, scale.y(value), scale.right, scale.y(value))
    context.fillText(label(value), scale.left - 8, scale.y(value) + 4)
  }
}

function begin(context: CanvasRenderingContext2D, align: CanvasTextAlign): void {
  context.strokeStyle = palette().hair
  context.fillStyle = palette()['ink-3']
  context.lineWidth = 1
  context.font = FONT
  context.textAlign = align
}

/** 0 and the multiples of 1, 2 or 5 times a power of ten up to `top`, at least `room` pixels apart. */
export function valueTicks(top: number, height: number, room: number): readonly number[] {
  const least = (top * room) / height
  const power = 10 ** Math.floor(Math.log10(least))
  const step = [1, 2, 5, 10].map(factor => factor * power).find(each => each >= least) ?? least
  return Array.from({ length: Math.floor(top / step + 1e-9) + 1 }, (_, index) => index * step)
}
