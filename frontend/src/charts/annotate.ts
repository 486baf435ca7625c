/** Epochs and events: lines over a chart, with their names above it. */
import type { Scale } from './axes'
import { palette } from './palette'
import { area, type Context, letters, line } from './pen'

export interface Mark {
  /** Position along the width, in its unit. */
  at: number
  label: string
  /** It went on until there, and is drawn as a band. */
  until?: number
  /** Said of it in words alone. */
  detail?: string
  /** Something that happened, and not the beginning of an epoch: solid, and named first where names would collide. */
  isEvent?: boolean
}

/** Between two names, in CSS pixels. */
const NAME_GAP = 12
/** From this many lines on they are drawn fainter. */
const MANY_MARKS = 30

/** Behind what is drawn. */
export function drawBands(context: Context, marks: readonly Mark[], scale: Scale): void {
  for (const { at, until } of marks) {
    if (until === undefined) continue
    const [left, right] = [scale.x(at), scale.x(until)]
    area(context, 'sunk', [left, scale.top, Math.max(1, right - left), scale.bottom - scale.top])
  }
}

export function drawMarks(context: Context, marks: readonly Mark[], scale: Scale): void {
  context.strokeStyle = palette()['ink-2']
  context.lineWidth = 1
  for (const mark of shown(marks, scale)) {
    if (mark.until !== undefined) continue
    context.globalAlpha = marks.length > MANY_MARKS && !mark.isEvent ? 0.3 : 0.7
    context.setLineDash(mark.isEvent ? [] : [2, 2])
    line(context, scale.x(mark.at), scale.top, scale.x(mark.at), scale.bottom)
  }
  context.globalAlpha = 1
  context.setLineDash([])
}

/** First `corner` at the right end, then events, then pauses, then epochs, from the left: a name that would overlap another is left out. */
export function nameMarks(
  context: Context,
  marks: readonly Mark[],
  corner: string | null,
  scale: Scale,
): void {
  letters(context, 'ink-2')
  const taken: [number, number][] = []
  const place = (text: string, left: number) => {
    const right = left + context.measureText(text).width
    const isFree = taken.every(([from, to]) => right + NAME_GAP <= from || left >= to + NAME_GAP)
    if (!isFree || right > scale.right + 0.5) return
    taken.push([left, right])
    context.fillText(text, left, scale.top - 7)
  }
  if (corner) place(corner, scale.right - context.measureText(corner).width)
  const here = shown(marks, scale)
  const inside = (label: string, x: number) => Math.min(x, scale.right - context.measureText(label).width)
  for (const { label, at } of here.filter(mark => mark.isEvent)) {
    // What happened last, as the run ended, is named to the left of its line.
    place(label, inside(label, scale.x(at)))
  }
  for (const { label, at, until } of bands(here, scale)) {
    const middle = (scale.x(Math.max(at, 0)) + scale.x(until) - context.measureText(label).width) / 2
    place(label, Math.max(scale.left, inside(label, middle)))
  }
  for (const { label, at } of here.filter(mark => mark.until === undefined && !mark.isEvent)) {
    place(label, scale.x(at))
  }
}

/** Between two bands, in CSS pixels, up to which they are seen as one. */
const SEEN_AS_ONE = 3

type Band = Mark & { until: number }

/** Those that follow one upon the other have their names together. */
function bands(marks: readonly Mark[], { x }: Scale): readonly Band[] {
  const found: Band[] = []
  for (const mark of marks.filter((mark): mark is Band => mark.until !== undefined && !mark.isEvent)) {
    const last = found.at(-1)
    if (last && x(mark.at) - x(last.until) <= SEEN_AS_ONE) {
      const label = last.label.split(', ').includes(mark.label) ? last.label : `${last.label}, ${mark.label}`
      found[found.length - 1] = { ...last, label, until: Math.max(last.until, mark.until) }
    } else found.push(mark)
  }
  return found
}

function shown(marks: readonly Mark[], { x, left, right }: Scale): readonly Mark[] {
  return marks.filter(({ at, until = at }) => x(until) >= left && x(at) <= right)
}
