/** What is written over a panel: epochs and events as lines, and each layer's name beside its newest value. */
import { line, type Scale } from './axes'
import { spread } from './frame'
import { FONT, LABEL_FONT, palette } from './palette'
import type { Mark, TimePanel } from './panel'

const LABEL_ROOM = 15
/** Between two names of marks. */
const MARK_GAP = 12
/** Lines this close are a texture: they step back. */
const MANY_MARKS = 30

export function annotate(context: CanvasRenderingContext2D, panel: TimePanel, scale: Scale): void {
  context.textAlign = 'left'
  context.lineWidth = 1
  context.font = FONT
  drawMarks(context, panel, scale)
  if (panel.hasTimeLabels) nameMarks(context, panel, scale)
  context.font = LABEL_FONT
  drawLabels(context, panel, scale)
}

function drawMarks(context: CanvasRenderingContext2D, panel: TimePanel, scale: Scale): void {
  context.strokeStyle = palette()['ink-2']
  for (const mark of shown(panel, scale)) {
    context.globalAlpha = panel.marks.length > MANY_MARKS && !mark.isEvent ? 0.3 : 0.7
    context.setLineDash(mark.isEvent ? [] : [2, 2])
    line(context, scale.x(mark.atS), scale.top, scale.x(mark.atS), scale.bottom)
  }
  context.globalAlpha = 1
  context.setLineDash([])
}

function shown({ marks }: TimePanel, { x, left, right }: Scale): readonly Mark[] {
  return marks.filter(mark => x(mark.atS) >= left && x(mark.atS) <= right)
}

/** Events first, then epochs from the left: a name that would run into another is left out. */
function nameMarks(context: CanvasRenderingContext2D, panel: TimePanel, scale: Scale): void {
  context.fillStyle = palette()['ink-2']
  const taken: [number, number][] = []
  const place = (text: string, left: number) => {
    const right = left + context.measureText(text).width
    const isFree = taken.every(([from, to]) => right + MARK_GAP <= from || left >= to + MARK_GAP)
    if (!isFree || right > scale.right + 0.5) return
    taken.push([left, right])
    context.fillText(text, left, scale.top - 7)
  }
  if (panel.topLabel) place(panel.topLabel, scale.right - context.measureText(panel.topLabel).width)
  const marks = shown(panel, scale).toSorted(
    (a, b) => Number(b.isEvent ?? false) - Number(a.isEvent ?? false),
  )
  // What happened last, as the run ended, is named to the left of its line.
  for (const { label, atS, isEvent } of marks) {
    const most = isEvent ? scale.right - context.measureText(label).width : Infinity
    place(label, Math.min(scale.x(atS), most))
  }
}

function drawLabels(
  context: CanvasRenderingContext2D,
  panel: TimePanel,
  { y, right, top, bottom }: Scale,
): void {
  const named = panel.layers.flatMap((layer, index) => {
    const value = labelHeight(panel, index)
    return layer.label === null || value === null ? [] : [{ layer, at: y(value) }]
  })
  const places = spread(
    named.map(({ at }) => Math.min(Math.max(at, top + 6), bottom - 4)),
    LABEL_ROOM,
    bottom,
  )
  named.forEach(({ layer }, index) => {
    context.fillStyle = palette()[layer.labelColour]
    context.fillText(layer.label ?? '', right + 8, (places[index] ?? 0) + 4)
  })
}

/** A line is named at its last value, a stacked layer in the middle of its own part. */
function labelHeight({ layers, top, isOverlaid }: TimePanel, index: number): number | null {
  const at = layers[index]?.values.findLastIndex(value => value !== null) ?? -1
  if (at < 0) return null
  const own = Math.min(layers[index]?.values[at] ?? 0, top)
  if (layers.length === 1 || isOverlaid) return own
  const below = layers[index + 1]?.values[at] ?? 0
  return (own + Math.min(below, top)) / 2
}
