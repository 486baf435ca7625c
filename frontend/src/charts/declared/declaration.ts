/** How a chart of measured quantities is declared, once: drawing, readout, table, file and words follow from it. */
import type { Mark } from '../annotate'
import type { Axis, ValueAxis } from '../axes'
import { bucketAt, type Column, type Held, last } from '../columns'
import { type Layer, lines } from '../lines'
import type { Colour, Palette } from '../palette'
import type { Drawn } from '../surface'
import { formatValue, type Unit, valueAxis } from '../units'

/** One measured quantity over an axis, in `unit`. */
export interface Quantity {
  /** Name of its column in a saved file; ends in the unit of its values. */
  name: string
  /** Before its value in the readout; above its column in the table. */
  label: string
  unit: Unit
  /** Ascending positions along the axis: seconds of the run clock, steps, epochs or samples. */
  at: readonly number[]
  values: Column
}

/** As the API gives a metric: a quantity that has no words yet, or the reason why there is none. */
export type Found = Pick<Quantity, 'unit' | 'at' | 'values'> & { missing: string | null }

/** Something that depends on the run or host that is shown, or not. */
type BySource<Source, T> = T | ((source: Source) => T)

export interface DeclaredLine<Source> {
  /** A metric of the API. */
  metric: string
  label: string
  /** Without a colour it is not drawn: it is only in readout, table and file. */
  stroke?: Colour
  fill?: keyof Palette
  isDashed?: boolean
  /** Stands beside its end instead of its newest value, or is built from it. */
  end?: string | ((newest: string) => string)
  endColour?: Colour
  /** It is drawn as the share of this much, in the unit of its values; `null`: that is not known. */
  whole?: (source: Source) => number | null
  /** Instead of the metric's own values; of other metrics of the chart at the same positions. */
  derived?: { name: string; unit: Unit; values(column: (metric: string) => Column): Column }
  /** Of the steps of a bucket; their mean, if it is left out. */
  percentile?: 'p50' | 'p95' | 'p99'
  /** Often not measured, which the chart does not mention. In a stack it is then part of the layer below. */
  isOptional?: boolean
}

export interface Declared<Source> {
  title: BySource<Source, string>
  /** The title of its panel is title enough. */
  isUntitled?: boolean
  /** Small print beside the title. */
  detail?: BySource<Source, string>
  /** CSS pixels, axes included. */
  height?: number
  /** The first line on top, each on those after it. */
  isStacked?: boolean
  isLabelled?: boolean
  /** The value at the upper edge, unless a higher one was measured; `null`: what was measured decides. */
  top?: BySource<Source, number | null>
  lines: readonly DeclaredLine<Source>[]
  /** Only there while this holds. */
  isFor?(source: Source): boolean
  /** An explanation of figures that seem to contradict each other; `null`: none is needed. */
  explained?(quantities: readonly Quantity[]): Explanation | null
}

export interface Explanation {
  summary: string
  text: string
}

/** A chart with its words, as a page shows it. */
export interface ShownChart {
  /** Left out: the title of its panel heads it. */
  title?: string | undefined
  detail?: string
  /** What a screen reader says instead of the picture. */
  label: string
  /** What readout, table and file have. */
  quantities: readonly Quantity[]
  /** `null`: nothing of it was measured. */
  drawn: Drawn | null
  /** What of it was not measured, and why. */
  missing?: string | null
  explanation?: Explanation | null
}

/** Charts over one axis, below one another, and all that is said of them. */
export interface ChartSet {
  charts: readonly ShownChart[]
  /** What readout, table and file have, also without a chart. */
  quantities: readonly Quantity[]
  across: Axis
  /** Ascending positions: the stops of the arrow keys, and the rows of the table. */
  at: readonly number[]
  /** Of the table; left out: the title of the panel. */
  caption?: string | undefined
  /** The column of the positions, in the file and in the table. */
  position: { name: string; label: string }
}

/** What the charts of one panel have in common. */
export interface Ground<Source> {
  source: Source
  across: Axis
  marks: readonly Mark[]
  /** Until when each value of a metric holds; left out: lines go from value to value. */
  held?(metric: string, at: readonly number[]): Held
  find(metric: string, percentile?: DeclaredLine<Source>['percentile']): Found | null
  /** What stands beside the end of a line, from its newest value. */
  newest(value: string): string
  /** What stands above the drawing, from the highest value, where that is cut off. */
  highest(value: string): string
}

/** Flat: several are below one another. */
const HEIGHT = 82

export function shownChart<Source>(declared: Declared<Source>, ground: Ground<Source>): ShownChart {
  const { source, across, marks } = ground
  const read = readLines(declared, ground)
  const quantities = read.map(({ quantity }) => quantity)
  const measured = quantities.filter(({ values }) => last(values) !== null)
  const missing = whyMissing(declared, ground)
  // Without one of its parts a stack would show the others at wrong heights.
  const layers = declared.isStacked && missing !== null ? [] : read.flatMap(one => layersOf(one, ground))
  const title = valueFor(declared.title, source)
  const up = () => upOf(declared, layers, measured[0]?.unit ?? 'count', ground)
  return {
    title: declared.isUntitled ? undefined : title,
    detail: layers.length > 0 ? valueFor(declared.detail ?? '', source) : '',
    label: `${title}: ${measured.map(newestInWords).join(', ')}`,
    quantities,
    drawn:
      layers.length === 0
        ? null
        : lines({ ...declared, height: declared.height ?? HEIGHT, across, marks, layers, up: up() }),
    missing,
    explanation: declared.explained?.(quantities) ?? null,
  }
}

interface ReadLine<Source> {
  line: DeclaredLine<Source>
  quantity: Quantity
}

/** Parts of a stack all at the positions of the lowest one. */
function readLines<Source>(
  { lines, isStacked }: Declared<Source>,
  ground: Ground<Source>,
): readonly ReadLine<Source>[] {
  const read = lines.map(line => ({ line, quantity: quantityOf(line, ground) }))
  const at = read.findLast(({ line }) => line.stroke)?.quantity.at
  if (!isStacked || !at) return read
  return read.map(({ line, quantity }) => ({
    line,
    quantity: { ...quantity, at, values: alignedTo(at, quantity) },
  }))
}

/** Shares of a whole go up to that whole. */
function upOf<Source>(
  { lines, top, isStacked }: Declared<Source>,
  layers: readonly Layer[],
  unit: Unit,
  { source, highest }: Ground<Source>,
): ValueAxis {
  const columns = layers.map(({ values }) => values)
  if (lines.some(line => line.whole)) return valueAxis('fraction', columns, 1)
  return valueAxis(unit, isStacked ? [sumsOf(columns)] : columns, valueFor(top ?? null, source), highest)
}

function valueFor<Source, T>(what: BySource<Source, T>, source: Source): T {
  return typeof what === 'function' ? (what as (source: Source) => T)(source) : what
}

function quantityOf<Source>(line: DeclaredLine<Source>, { find }: Ground<Source>): Quantity {
  const { metric, label, percentile, derived } = line
  const found = find(metric, percentile)
  const { unit, at, values } = found ?? { unit: 'count' as const, at: [], values: [] }
  const name = percentile ? `${percentile}_${metric}` : metric
  if (!derived) return { name, label, unit, at, values }
  const column = (other: string) => alignedTo(at, find(other))
  return { label, at, name: derived.name, unit: derived.unit, values: derived.values(column) }
}

/** The values at positions of another series; those that it lacks were not measured. */
function alignedTo(at: readonly number[], found: Pick<Found, 'at' | 'values'> | null): Column {
  const values = new Map(found?.at.map((position, index) => [position, found.values[index] ?? null]))
  return at.map(position => values.get(position) ?? null)
}

/** Empty where nothing was measured, or where the whole of which it is a share is not known. */
function layersOf<Source>(
  { line, quantity }: ReadLine<Source>,
  { source, newest, held }: Ground<Source>,
): readonly Layer[] {
  const { stroke, fill, isOptional, end } = line
  const whole = line.whole ? line.whole(source) : 1
  const newestValue = last(quantity.values)
  if (!stroke || newestValue === null || !whole) return []
  const value = formatValue(quantity.unit, newestValue)
  const { at, until, index } = held?.(line.metric, quantity.at) ?? { at: quantity.at }
  const values = quantity.values.map(one => (one === null ? null : one / whole))
  return [
    {
      at,
      until,
      values: index?.map(each => values[each] ?? null) ?? values,
      stroke,
      fill,
      isOptional,
      label: typeof end === 'function' ? end(value) : (end ?? newest(value)),
      labelColour: line.endColour,
      dash: line.isDashed ? [5, 3] : undefined,
    },
  ]
}

function sumsOf(columns: readonly Column[]): Column {
  return (columns[0] ?? []).map((_, index) => columns.reduce((sum, column) => sum + (column[index] ?? 0), 0))
}

function whyMissing<Source>({ lines }: Declared<Source>, { find }: Ground<Source>): string | null {
  for (const { metric, isOptional, stroke } of lines) {
    const found = find(metric)
    if (!isOptional && stroke && (!found || last(found.values) === null)) return found?.missing ?? ''
  }
  return null
}

function newestInWords({ label, unit, values }: Quantity): string {
  return `${label} ${formatValue(unit, last(values))}`
}

/** `null`: not measured there, or the series had begun only later, or had ended. */
export function valueAt({ at, values }: Pick<Quantity, 'at' | 'values'>, position: number): number | null {
  const index = bucketAt(at, position)
  const [end = 0, before = -Infinity] = [at.at(-1), at.at(-2)]
  return index === null || position > end + (end - before) ? null : (values[index] ?? null)
}

/** The values at the crosshair in one line, without those that were not measured there. */
export function readoutAt(
  { quantities, across }: Pick<ChartSet, 'quantities' | 'across'>,
  position: number,
): string {
  const values = quantities.map(quantity => ({ ...quantity, value: valueAt(quantity, position) }))
  const measured = values.filter(({ value }) => value !== null)
  const read = measured.map(({ label, unit, value }) => `${label} ${formatValue(unit, value)}`)
  return [across.inWords(position), ...read].join(' · ')
}
