/** How values of each unit of the API are written, and the value axis that suits them. */
import type { Series } from '../api/schema'
import {
  bytesTick,
  bytesUnit,
  durationTick,
  FORMATS,
  formatFraction,
  formatNumber,
  NOT_MEASURED,
  rateTick,
} from '../format'
import type { ValueAxis } from './axes'
import { type Column, highest, quantile } from './columns'

export type Unit = Series['unit']

/** In words, with its unit: `formatValue('us', 412_000)` → `"412 ms"`. Counts have one digit after the point. */
export function formatValue(unit: Unit, value: number | null): string {
  if (value === null) return NOT_MEASURED
  return FORMATS[unit]?.(value) ?? formatNumber(unit === 'per_s' ? value : Number(value.toFixed(1)))
}

const TICKS: Partial<Record<Unit, ValueAxis['tick']>> = {
  us: durationTick,
  fraction: percentTick,
  bytes: bytesTick,
  bytes_per_s: rateTick,
}

/** Values this far above the ordinary ones are cut off, and the highest is named: they would flatten all others. */
const OUTLIER = 3
/** Between the highest value and the upper edge. */
const HEAD_ROOM = 1.08

/** From 0 to where all ordinary values of `columns` fit; with `least` to that, or to the highest value above it. */
export function valueAxis(
  unit: Unit,
  columns: readonly Column[],
  least: number | null = null,
  label = (highest: string) => highest,
): ValueAxis {
  const values = columns.flat()
  const most = highest(values) ?? 0
  const tick = TICKS[unit] ?? formatNumber
  const isBytes = unit === 'bytes' || unit === 'bytes_per_s'
  if (isBytes || least !== null) {
    const top = isBytes ? bytesTop(most) : Math.max(least ?? 0, most)
    return { top, topLabel: null, ticks: [0, top / 2, top], tick }
  }
  const ordinary = Math.max(...columns.map(column => quantile(column, 0.95)))
  const shown = most > OUTLIER * ordinary ? ordinary * 2 : most || 1
  const topLabel = shown < most ? label(formatValue(unit, most)) : null
  const upTo = unit === 'fraction' ? Math.min(1, shown * HEAD_ROOM) : shown * HEAD_ROOM
  return { top: upTo, topLabel, ticks: null, tick }
}

/** A round number of the unit that suits `most`, and not below it; past 500 of a unit, one of the next. */
function bytesTop(most: number): number {
  const [divisor] = bytesUnit(most)
  const figure = Math.max(1, most / divisor)
  const power = 10 ** Math.floor(Math.log10(figure))
  const round = power * ([1, 2, 5].find(factor => factor * power >= figure) ?? 10)
  return divisor * (round < 1_000 ? round : 1_024)
}

function percentTick(fraction: number, largest: number): string {
  return fraction === largest ? formatFraction(fraction) : formatNumber(fraction * 100)
}
