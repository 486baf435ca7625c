/** What all charts draw with: lines, areas and words, in the colours of the style sheet. */
import type { Scale } from './axes'
import { type Colour, FONT, type Palette, palette } from './palette'

export type Context = CanvasRenderingContext2D

export function line(context: Context, x1: number, y1: number, x2: number, y2: number): void {
  context.beginPath()
  context.moveTo(x1, y1)
  context.lineTo(x2, y2)
  context.stroke()
}

/** Beyond it training waits. */
export function limitLine(context: Context, x1: number, y1: number, x2: number, y2: number): void {
  context.strokeStyle = palette().wait
  context.lineWidth = 1.6
  context.setLineDash([5, 3])
  line(context, x1, y1, x2, y2)
  context.setLineDash([])
}

type Box = readonly [left: number, top: number, width: number, height: number]

export function area(context: Context, colour: keyof Palette, [left, top, width, height]: Box): void {
  context.fillStyle = palette()[colour]
  context.fillRect(left, top, width, height)
}

export function outline(context: Context, colour: Colour, lineWidth: number, box: Box): void {
  context.strokeStyle = palette()[colour]
  context.lineWidth = lineWidth
  context.strokeRect(...box)
  context.lineWidth = 1
}

/** Sets what `measureText` measures with, too. */
export function letters(
  context: Context,
  colour: Colour,
  font = FONT,
  align: CanvasTextAlign = 'left',
): void {
  context.font = font
  context.fillStyle = palette()[colour]
  context.textAlign = align
}

/** What `draw` draws of values beyond the scale is cut off. */
export function within(context: Context, { left, right, top, bottom }: Scale, draw: () => void): void {
  context.save()
  context.beginPath()
  context.rect(left, top - 1, right - left, bottom - top + 2)
  context.clip()
  draw()
  context.restore()
}
