/** Both axes of a chart: where a value lies in pixels, and the grid behind the drawing, one line and label per tick. */
import { formatElapsed, formatNumber } from '../format'
import { palette } from './palette'
import { type Context, letters, line } from './pen'

/** What lies along the width: seconds of a clock, steps, epochs or samples. */
export interface Axis {
  from: number
  to: number
  /** Ascending positions of the ticks, as many as fit `width` CSS pixels. */
  ticks(width: number): readonly number[]
  label(at: number): string
  /** A position in words, as a readout begins and a row of a table. */
  inWords(at: number): string
}

/** What lies along the height: from 0 to `top`, in the unit of the values. */
export interface ValueAxis {
  top: number
  /** Written where values are above `top`. */
  topLabel: string | null
  /** `null`: as many as have room. */
  ticks: readonly number[] | null
  tick(value: number, largest: number): string
}

/** Where a chart draws, in CSS pixels of its canvas, and where its values lie there. */
export interface Scale {
  /** Width of the whole canvas. */
  width: number
  left: number
  right: number
  top: number
  bottom: number
  x(at: number): number
  y(value: number): number
  /** The position `x` pixels from the canvas's left edge; `null`: beside the drawing. */
  at(x: number): number | null
}

/** Left free beside a drawing, in CSS pixels: on the left for the value axis, on the right for names of lines. */
export interface Gutters {
  left: number
  right: number
}

const NARROW = 480
/** Long names do not fit beside a chart on a phone: there they are written above it. */
const NARROW_FOR_NAMES = 560

/** The same for all charts of a page, so that their time axes line up. */
export function gutters(width: number): Gutters {
  return width < NARROW ? { left: 46, right: 96 } : { left: 54, right: 100 }
}

export function guttersForNames(width: number): Gutters {
  return width < NARROW_FOR_NAMES ? { left: 46, right: 12 } : { left: 54, right: 132 }
}

/** `share`: of the height from bottom to top, 0–1, at which a value lies. */
export function scaleOf(
  { from, to }: Pick<Axis, 'from' | 'to'>,
  width: number,
  { left, right: spare }: Gutters,
  [top, bottom]: readonly [number, number],
  share: (value: number) => number,
): Scale {
  const right = width - spare
  return {
    width,
    left,
    right,
    top,
    bottom,
    x: at => left + ((right - left) * (at - from)) / (to - from),
    y: value => bottom - (bottom - top) * share(value),
    at: x => (x < left || x > right ? null : from + ((x - left) / (right - left)) * (to - from)),
  }
}

const DAY_S = 86_400
/** Steps between time ticks, in seconds: the finest that fits is taken. */
const TIME_STEPS_S: readonly number[] = [
  ...[
    0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 30, 60, 120, 300, 600, 900, 1_800, 3_600, 7_200, 10_800, 21_600, 43_200,
  ],
  ...[DAY_S, 2 * DAY_S, 7 * DAY_S, 28 * DAY_S],
]
/** A label below the axis and the air around it, in CSS pixels. */
const LABEL_WIDTH = 76
/** From fewer ticks no scale is read: rather than those, they stand as close as this, and not each has its label. */
const LEAST_TICKS = 3
const LEAST_TICK_WIDTH = 30

/** Run time, in seconds; 0 is called `start`. `clock` writes instants of another one. */
export function timeAxis(fromS: number, toS: number, start: string, clock?: (atS: number) => string): Axis {
  return {
    from: fromS,
    to: toS,
    ticks: width => timeTicks(fromS, toS, width),
    label: clock ?? (atS => (atS === 0 ? start : formatElapsed(atS, toS))),
    inWords: clock ?? (atS => formatElapsed(Math.round(atS), toS)),
  }
}

/** Steps, epochs or samples from 0. */
export function countAxis(to: number, inWords: (at: number) => string): Axis {
  const ticks = (width: number) => valueTicks(to, width, LABEL_WIDTH)
  return { from: 0, to, ticks, label: at => (at === 0 ? inWords(0) : formatNumber(at)), inWords }
}

/** Round instants between two, in seconds, with room for their labels in so many CSS pixels. */
export function timeTicks(fromS: number, toS: number, width: number): readonly number[] {
  const room = Math.max(1, Math.floor(width / LABEL_WIDTH))
  const fits = TIME_STEPS_S.findIndex(candidate => (toS - fromS) / candidate <= room)
  const ticks = everySo(TIME_STEPS_S[fits] ?? DAY_S * 56, fromS, toS)
  const finer = TIME_STEPS_S[fits - 1]
  const hasRoom = finer !== undefined && (width * finer) / (toS - fromS) >= LEAST_TICK_WIDTH
  return ticks.length < LEAST_TICKS && hasRoom ? everySo(finer, fromS, toS) : ticks
}

function everySo(step: number, fromS: number, toS: number): readonly number[] {
  const first = Math.ceil(fromS / step) * step
  return Array.from({ length: Math.floor((toS - first) / step) + 1 }, (_, index) => first + index * step)
}

/** 0 and the multiples of 1, 2 or 5 times a power of ten up to `top`, at least `room` of `extent` pixels apart. */
export function valueTicks(top: number, extent: number, room: number): readonly number[] {
  const least = (top * room) / extent
  const power = 10 ** Math.floor(Math.log10(least))
  const step = [1, 2, 5, 10].map(factor => factor * power).find(each => each >= least) ?? least
  return Array.from({ length: Math.floor(top / step + 1e-9) + 1 }, (_, index) => index * step)
}

/** A line from top to bottom for each tick of the width, with its label below where `isLabelled`. */
export function drawAxis(context: Context, scale: Scale, axis: Axis, isLabelled: boolean): void {
  styleGrid(context, 'center')
  const ticks = axis.ticks(scale.right - scale.left)
  for (const at of ticks) line(context, scale.x(at), scale.top, scale.x(at), scale.bottom)
  if (!isLabelled) return
  const width = (at: number) => context.measureText(axis.label(at)).width
  const every = labelledEvery(ticks, at => scale.x(at), width)
  for (const at of ticks.filter((_, index) => index % every === 0))
    context.fillText(axis.label(at), scale.x(at), scale.bottom + 17)
}

/** Between the labels of two ticks, at least, in CSS pixels. */
const LABEL_GAP = 8

/** 1: each tick has room for its label, 2: every second one. */
function labelledEvery(
  ticks: readonly number[],
  x: (at: number) => number,
  width: (at: number) => number,
): number {
  const collide = (every: number) =>
    ticks.some((at, index) => {
      const before = ticks[index - every]
      if (index % every !== 0 || before === undefined) return false
      return x(at) - x(before) < (width(at) + width(before)) / 2 + LABEL_GAP
    })
  const most = Math.max(1, ticks.length)
  for (let every = 1; every < most; every += 1) if (!collide(every)) return every
  return most
}

/** A line from left to right for each tick of the height, with its label on the left. */
export function drawValueGrid(
  context: Context,
  scale: Scale,
  ticks: readonly number[],
  label: (value: number) => string,
): void {
  styleGrid(context, 'right')
  for (const value of ticks) {
    line(context, scale.left, scale.y(value), scale.right, scale.y(value))
    const words = label(value)
    // A long label begins at the edge of the canvas; it would be cut off beyond.
    context.fillText(words, Math.max(scale.left - 8, context.measureText(words).width), scale.y(value) + 4)
  }
}

function styleGrid(context: Context, align: CanvasTextAlign): void {
  context.strokeStyle = palette().hair
  context.lineWidth = 1
  letters(context, 'ink-3', undefined, align)
}
