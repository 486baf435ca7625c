/** Lines over one axis, or areas stacked on one another, with marks over them and names beside their ends. */
import { drawBands, drawMarks, type Mark, nameMarks } from './annotate'
import {
  type Axis,
  drawAxis,
  drawValueGrid,
  gutters,
  guttersForNames,
  type Scale,
  scaleOf,
  type ValueAxis,
  valueTicks,
} from './axes'
import { type Column, spans, worthDrawing } from './columns'
import { drawEndLabels, type EndLabel } from './labels'
import { type Colour, type Palette, palette } from './palette'
import { type Context, within } from './pen'
import type { Drawn } from './surface'

export interface Layer {
  /** Ascending positions of the values along the width. */
  at: readonly number[]
  /** Each value holds until there: it is drawn as a step, and breaks where the next begins later. */
  until?: readonly number[] | undefined
  values: Column
  stroke: Colour
  /** Colour of the area down to the layer below; without it there is only a line. */
  fill?: keyof Palette | undefined
  /** Written beside its end: in the middle of its part of a stack, else at its last value. */
  label?: string | undefined
  labelColour?: Colour | undefined
  /** Lengths of strokes and gaps in CSS pixels: lines differ without their colours too. */
  dash?: readonly number[] | undefined
  /** CSS pixels. */
  width?: number | undefined
  /** Where this part of a stack was not measured it is inside the one below, on which the one above then rests. */
  isOptional?: boolean | undefined
}

export interface LineChart {
  /** CSS pixels, axes included. */
  height: number
  across: Axis
  up: ValueAxis
  /** The first lies over all others. Of a stack from the top downwards, all with the same positions. */
  layers: readonly Layer[]
  isStacked?: boolean | undefined
  /** The ticks of the width have labels below, the marks names above. */
  isLabelled?: boolean | undefined
  /** The labels beside the ends are names, as long as a run's, and not figures. */
  hasNames?: boolean | undefined
  marks?: readonly Mark[] | undefined
}

/** A layer as it is drawn: its upper edge, and the lower one of a part of a stack. */
interface Edges extends Layer {
  upper: Column
  lower: Column | null
}

type Point = readonly [x: number, y: number]

/** Above and below the drawing, in CSS pixels: names of marks, and labels of ticks. */
const TOP = { labelled: 20, bare: 8 }
const BOTTOM = { labelled: 24, bare: 6 }
/** Between two value ticks, in CSS pixels. */
const TICK_ROOM = { tall: 34, flat: 22 }
const TALL = 150
/** Two steps nearer than that, in CSS pixels, follow each other without a gap that could be seen. */
const ADJOINING = 0.5

export function lines(chart: LineChart): Drawn {
  const edges = chart.isStacked ? stacked(chart.layers) : chart.layers.map(alone)
  const kind = chart.isLabelled ? 'labelled' : 'bare'
  const sides = [TOP[kind], chart.height - BOTTOM[kind]] as const
  return {
    height: chart.height,
    scale: width => {
      const beside = chart.hasNames ? guttersForNames(width) : gutters(width)
      return scaleOf(chart.across, width, beside, sides, value => value / chart.up.top)
    },
    draw: (context, scale) => draw(context, chart, edges, scale),
  }
}

function alone(layer: Layer): Edges {
  return { ...layer, upper: layer.values, lower: null }
}

/** Each lies on the sum of those below it; where one that is not optional was not measured, nothing above it is known. */
function stacked(layers: readonly Layer[]): readonly Edges[] {
  const fromBelow: Edges[] = []
  let lower: Column = layers[0]?.values.map(() => 0) ?? []
  for (const layer of layers.toReversed()) {
    const ground = lower
    const upper = layer.values.map((value, index) => sum(value, ground[index] ?? null))
    fromBelow.push({ ...layer, upper, lower })
    lower = layer.isOptional ? upper.map((value, index) => value ?? ground[index] ?? null) : upper
  }
  return fromBelow.reverse()
}

function sum(a: number | null, b: number | null): number | null {
  return a === null || b === null ? null : a + b
}

function draw(
  context: Context,
  { across, up, height, isStacked, isLabelled = false, marks = [] }: LineChart,
  edges: readonly Edges[],
  scale: Scale,
): void {
  const room = TICK_ROOM[height > TALL ? 'tall' : 'flat']
  const ticks = up.ticks ?? valueTicks(up.top, scale.bottom - scale.top, room)
  drawAxis(context, scale, across, isLabelled)
  drawValueGrid(context, scale, ticks, value => up.tick(value, ticks.at(-1) ?? value))
  within(context, scale, () => {
    drawBands(context, marks, scale)
    for (const layer of isStacked ? edges : edges.toReversed()) drawLayer(context, layer, scale)
  })
  drawMarks(context, marks, scale)
  if (isLabelled) nameMarks(context, marks, up.topLabel, scale)
  const labels = edges.flatMap(layer => endLabel(layer, up.top, scale))
  drawEndLabels(context, labels, scale)
}

function drawLayer(context: Context, layer: Edges, scale: Scale): void {
  const { at, until, upper, lower, fill, stroke, dash = [], width } = layer
  const x = (index: number) => scale.x(at[index] ?? 0)
  const end = (index: number) => scale.x(until?.[index] ?? 0)
  context.strokeStyle = palette()[stroke]
  context.lineWidth = width ?? (lower ? 0.5 : 1.3)
  for (const [from, to] of spans(upper, index => !until || x(index) - end(index - 1) < ADJOINING)) {
    const indices = worthDrawing(upper, from, to, x)
    const edgeOf = (column: Column | null) => {
      const y = (index: number) => scale.y(column?.[index] ?? 0)
      const points = indices.flatMap((index, place): Point[] => {
        const next = indices[place + 1]
        const begin: Point = [x(index), y(index)]
        return until ? [begin, [next === undefined ? end(index) : x(next), y(index)]] : [begin]
      })
      return visible(points)
    }
    const edge = edgeOf(upper)
    if (fill) {
      context.fillStyle = palette()[fill]
      trace(context, [...edge, ...edgeOf(lower).toReversed()])
      context.fill()
    }
    context.setLineDash([...dash])
    trace(context, edge)
    context.stroke()
  }
  context.setLineDash([])
}

/** A single value between gaps is at least two pixels wide: as a point it would not be seen. */
function visible(points: readonly Point[]): readonly Point[] {
  const [[x, y] = [0, 0], ...others] = points
  const [right] = others.at(-1) ?? [x]
  if (right - x >= 2) return points
  const middle = (x + right) / 2
  return [
    [middle - 1, y],
    ...others.slice(0, -1).map(([, between]): Point => [middle, between]),
    [middle + 1, others.at(-1)?.[1] ?? y],
  ]
}

function trace(context: Context, points: readonly Point[]): void {
  context.beginPath()
  for (const [x, y] of points) context.lineTo(x, y)
}

function endLabel(layer: Edges, top: number, { y, top: highestY, bottom }: Scale): readonly EndLabel[] {
  const { label, labelColour, stroke, upper, lower } = layer
  const newest = upper.findLastIndex(value => value !== null)
  if (!label || newest < 0) return []
  const own = Math.min(upper[newest] ?? 0, top)
  const middle = lower ? (own + Math.min(lower[newest] ?? 0, top)) / 2 : own
  const at = Math.min(Math.max(y(middle), highestY + 6), bottom - 4)
  return [{ text: label, colour: labelColour ?? stroke, y: at }]
}
