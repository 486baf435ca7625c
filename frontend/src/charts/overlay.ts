/** Several runs in one chart: a line each, told apart by colour, dashes and the name beside its end. */
import { drawColumns, drawValueGrid, type Scale, scaleOf, valueTicks } from './axes'
import type { Crosshair } from './crosshair'
import { type Drawing, mountDrawing, within } from './drawing'
import { type Mounted, spread, TIME_SPACE, timeTicks } from './frame'
import { LABEL_FONT, palette } from './palette'
import { spans } from './time'

export const RUN_COLOURS = ['ink', 'run-1', 'run-2', 'run-3', 'run-4', 'run-5', 'run-6', 'run-7'] as const
/** The colours are those of Okabe and Ito; the dashes are for who sees none of them. */
export const RUN_DASHES = [
  [],
  [7, 3],
  [2, 2.5],
  [9, 3, 2, 3],
  [4, 2],
  [12, 4],
  [2, 7],
  [7, 2, 1.5, 2, 1.5, 2],
] as const satisfies readonly (readonly number[])[]

export interface RunLine {
  label: string
  /** Place among the runs: what it is drawn with. */
  place: number
  /** Positions along the axis: steps, seconds or epochs. */
  at: readonly number[]
  values: readonly (number | null)[]
}

export interface Overlay {
  height: number
  to: number
  isTime: boolean
  lines: readonly RunLine[]
  top: number
  tick(value: number, largest: number): string
  label(at: number): string
  startLabel: string
}

const SIDES = { left: 54, right: 132 }
const SIDES_NARROW = { left: 46, right: 12 }
const [TOP, BOTTOM, TICK_ROOM, LABEL_ROOM] = [10, 24, 34, 15]

const DRAWING: Drawing<Overlay> = {
  height: overlay => overlay.height,
  scale: overlayScale,
  draw: drawOverlay,
}

export function mountOverlay(element: HTMLElement, first: Overlay, crosshair: Crosshair): Mounted<Overlay> {
  return mountDrawing(element, first, DRAWING, { crosshair })
}

function isNarrow(width: number): boolean {
  return width < 560
}

function overlayScale({ to, top, height }: Overlay, width: number): Scale {
  const sides = isNarrow(width) ? SIDES_NARROW : SIDES
  return scaleOf({ fromS: 0, toS: to }, width, sides, [TOP, height - BOTTOM], value => value / top)
}

function drawOverlay(context: CanvasRenderingContext2D, overlay: Overlay, scale: Scale): void {
  drawPositions(context, overlay, scale)
  const ticks = valueTicks(overlay.top, scale.bottom - scale.top, TICK_ROOM)
  drawValueGrid(context, scale, ticks, value => overlay.tick(value, ticks.at(-1) ?? value))
  within(context, scale, () => {
    // The baseline last, over all others.
    for (const each of overlay.lines.toReversed()) drawLine(context, each, scale)
  })
  if (scale.left !== SIDES_NARROW.left) nameLines(context, overlay, scale)
}

function drawPositions(context: CanvasRenderingContext2D, overlay: Overlay, scale: Scale): void {
  const { to, isTime, label, startLabel } = overlay
  const width = scale.right - scale.left
  const ticks = isTime ? timeTicks(0, to, width) : valueTicks(to, width, TIME_SPACE)
  drawColumns(context, scale, ticks, at => (at === 0 ? startLabel : label(at)))
}

function drawLine(context: CanvasRenderingContext2D, { place, at, values }: RunLine, { x, y }: Scale): void {
  context.strokeStyle = palette()[RUN_COLOURS[place] ?? 'ink']
  context.lineWidth = place === 0 ? 1.8 : 1.6
  context.setLineDash([...(RUN_DASHES[place] ?? [])])
  for (const [from, to] of spans(values)) {
    context.beginPath()
    for (let index = from; index < to; index += 1) context.lineTo(x(at[index] ?? 0), y(values[index] ?? 0))
    context.stroke()
  }
  context.setLineDash([])
}

/** Beside the right edge, at the height of its last value. */
function nameLines(context: CanvasRenderingContext2D, { lines, top }: Overlay, scale: Scale): void {
  const room = SIDES.right - 12
  const heights = lines.map(each =>
    scale.y(Math.min(top, each.values.findLast(value => value !== null) ?? 0)),
  )
  const placed = spread(heights, LABEL_ROOM, scale.bottom)
  context.font = LABEL_FONT
  context.textAlign = 'left'
  lines.forEach((each, index) => {
    context.fillStyle = palette()[RUN_COLOURS[each.place] ?? 'ink']
    context.fillText(fitted(context, each.label, room), scale.right + 8, (placed[index] ?? 0) + 4)
  })
}

function fitted(context: CanvasRenderingContext2D, text: string, room: number): string {
  if (context.measureText(text).width <= room) return text
  let cut = text
  while (cut && context.measureText(`${cut}…`).width > room) cut = cut.slice(0, -1)
  return `${cut}…`
}
