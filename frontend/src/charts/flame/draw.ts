/** The picture of a flame graph: the stronger its colour, the more is spent in that function itself; bold is the project’s own. */
import { formatFraction } from '../../format'
import { type Scale, scaleOf } from '../axes'
import { fitted } from '../labels'
import { type Colour, FONT, LABEL_FONT } from '../palette'
import { area, type Context, letters, outline } from '../pen'
import type { Drawn } from '../surface'
import { type Bar, rowsOf } from './layout'
import { type FlameNode, type Matches, placeOf } from './tree'

export interface Flame {
  bars: readonly Bar[]
  /** All of loading. */
  root: FlameNode
  /** Drawn in full; `null`: nothing is searched for. */
  matches: Matches | null
  /** Where the reader is. */
  current: Bar | null
  /** Under the pointer. */
  pointed?: Bar | null
  /** Of the root, a stage, or several functions that stand together. */
  nameOf(bar: Bar): string
}

/** CSS pixels. */
export const ROW = 22
const GAP = 1
const PAD = 5
/** Narrower bars carry no name. */
const NAME_ROOM = 26
/** Between a name and its share. */
const SHARE_GAP = 10

/** How much of the colour of loading a bar has, from a function that only calls to the one that most time is spent in. */
const [PALEST, DARKEST] = [0.16, 1]
const FAINT = 0.3

/** `y` of its scale is the upper edge of a row. */
export function flame(shown: Flame): Drawn {
  const height = rowsOf(shown.bars) * ROW
  return {
    height,
    scale: width => ({
      ...scaleOf({ from: 0, to: 1 }, width, { left: 0, right: 0 }, [0, height], () => 0),
      y: level => level * ROW,
    }),
    draw(context, scale) {
      const hottest = mostOwn(shown.root)
      for (const bar of shown.bars) drawBar(context, bar, shown, hottest, scale)
      if (shown.current) outlineBar(context, shown.current, scale, 'ink')
      if (shown.pointed) outlineBar(context, shown.pointed, scale, 'ink-3')
    },
  }
}

/** Samples of the function that most are in itself. */
function mostOwn(node: FlameNode): number {
  const own = node.frame ? node.ownSamples : 0
  return node.children.reduce((most, each) => Math.max(most, mostOwn(each)), own)
}

function drawBar(context: Context, bar: Bar, shown: Flame, hottest: number, scale: Scale): void {
  const [left, top] = [scale.x(bar.from), scale.y(bar.level)]
  const width = Math.max(0.5, scale.x(bar.to) - left - GAP)
  const isFound = shown.matches === null || (bar.rest.length === 0 && shown.matches.nodes.has(bar.node))
  context.globalAlpha = isFound ? 1 : FAINT
  area(context, 'sunk', [left, top, width, ROW - GAP])
  context.globalAlpha = heatOf(bar, hottest) * (isFound ? 1 : FAINT)
  area(context, 'load-cpu', [left, top, width, ROW - GAP])
  context.globalAlpha = isFound || shown.matches?.nodes.size === 0 ? 1 : 2 * FAINT
  if (width >= NAME_ROOM) drawName(context, bar, shown, { left, width, baseline: top + ROW - 7 })
  context.globalAlpha = 1
}

function heatOf({ node, rest }: Bar, hottest: number): number {
  if (!node.frame || rest.length > 0 || hottest === 0) return 0
  // By the root: else all but the hottest would look alike.
  return PALEST + (DARKEST - PALEST) * Math.sqrt(node.ownSamples / hottest)
}

interface Place {
  left: number
  width: number
  baseline: number
}

/** The function; where there is room, its place, and its share of loading at the right. */
function drawName(context: Context, bar: Bar, shown: Flame, place: Place): void {
  const { left, width, baseline } = place
  const frame = bar.rest.length > 0 ? null : bar.node.frame
  const name = frame ? frame.function : shown.nameOf(bar)
  letters(context, 'ink', frame?.is_own ? LABEL_FONT : FONT)
  const room = width - 2 * PAD
  context.fillText(fitted(context, name, room), left + PAD, baseline)
  const used = context.measureText(name).width + SHARE_GAP
  context.font = FONT
  const share = formatFraction(bar.samples / shown.root.samples)
  const shareWidth = context.measureText(share).width
  if (used + shareWidth > room) return
  const where = frame ? placeOf(frame) : ''
  const whereRoom = room - used - shareWidth - SHARE_GAP
  if (where && context.measureText(where).width <= whereRoom) {
    context.globalAlpha *= 0.78
    context.fillText(where, left + PAD + used, baseline)
    context.globalAlpha /= 0.78
  }
  context.textAlign = 'right'
  context.fillText(share, left + width - PAD, baseline)
  context.textAlign = 'left'
}

function outlineBar(context: Context, bar: Bar, { x, y }: Scale, colour: Colour): void {
  const width = Math.max(1, x(bar.to) - x(bar.from) - GAP - 2)
  outline(context, colour, 2, [x(bar.from) + 1, y(bar.level) + 1, width, ROW - GAP - 2])
}

/** The bar under a pixel of the canvas. */
export function barAt(bars: readonly Bar[], scale: Scale, x: number, y: number): Bar | null {
  const at = scale.at(x)
  if (at === null) return null
  const level = Math.floor(y / ROW)
  return bars.find(bar => bar.level === level && bar.from <= at && at < bar.to) ?? null
}
