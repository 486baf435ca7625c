/** Names beside the right edge of a chart, each at the height of what it names. */
import type { Scale } from './axes'
import { type Colour, LABEL_FONT } from './palette'
import { type Context, letters } from './pen'

/** From one name to the next, in CSS pixels. */
const LABEL_HEIGHT = 15
/** CSS pixels: with less, no name is written. */
const LEAST_ROOM = 20

export interface EndLabel {
  text: string
  colour: Colour
  /** Pixels from the top, before names are moved apart. */
  y: number
}

/** Names that would touch are moved apart, those wider than their room are cut; where there is none, none are written. */
export function drawEndLabels(
  context: Context,
  labels: readonly EndLabel[],
  { width, right, bottom }: Scale,
): void {
  const room = width - right - 8
  if (room < LEAST_ROOM) return
  const places = spread(
    labels.map(({ y }) => y),
    LABEL_HEIGHT,
    bottom,
  )
  labels.forEach(({ text, colour }, index) => {
    letters(context, colour, LABEL_FONT)
    context.fillText(fitted(context, text, room), right + 8, (places[index] ?? 0) + 4)
  })
}

/** Moves positions apart so that each has `room` pixels and none lies below `lowest`; keeps their order. */
export function spread(positions: readonly number[], room: number, lowest = Infinity): readonly number[] {
  const ranked = positions.map((at, index) => ({ at, index })).sort((a, b) => a.at - b.at)
  let free = -Infinity
  for (const label of ranked) {
    label.at = Math.max(label.at, free)
    free = label.at + room
  }
  let below = lowest
  for (const label of ranked.toReversed()) {
    label.at = Math.min(label.at, below)
    below = label.at - room
  }
  const placed = [...positions]
  for (const { at, index } of ranked) placed[index] = at
  return placed
}

/** With an ellipsis where `text` is wider than `room` pixels in the font of `context`. */
export function fitted(context: Context, text: string, room: number): string {
  if (context.measureText(text).width <= room) return text
  let cut = text
  while (cut && context.measureText(`${cut}…`).width > room) cut = cut.slice(0, -1)
  return `${cut}…`
}
