/** Series in buckets, turned into the aligned columns that the charts draw. Times are seconds of the run clock. */
import type { Series, SeriesPage } from '../api/names'

export type Column = readonly (number | null)[]

/** Parts of the mean step per bucket, in µs; `wait + copy + compute = total`. */
export interface StepColumns {
  atS: readonly number[]
  firstIndex: readonly number[]
  total: Column
  wait: Column
  /** `null`: the copy was not measured, so it is inside compute. */
  copy: Column | null
  compute: Column
  /** Of the whole step, where they were asked for. */
  spread: Spread | null
  /** Share of step time in which the device idled for data, by its own clock; `null`: not measured. */
  idle: Column | null
  /** Steps in a typical bucket; the newest may hold fewer. */
  stepsPerBucket: number
}

export interface Spread {
  p50: Column
  p95: Column
  p99: Column
}

export interface LineColumns {
  atS: readonly number[]
  mean: Column
  /** Why there is nothing to draw. */
  missing: string | null
}

/** What the panels are drawn from. */
export const SERIES_METRICS = [
  'step_us',
  'data_wait_us',
  'h2d_exposed_us',
  'queue_depth',
  'gpu_util_fraction',
  'gpu_idle_us',
]

function find(page: SeriesPage, metric: string): Series | null {
  return page.series.find(series => series.metric === metric) ?? null
}

/** The means of `series` at the instants of another one; buckets that it lacks are not measured. */
function aligned(series: Series | null, atUs: readonly number[]): Column | null {
  if (!series || series.missing !== null || series.mean.every(value => value === null)) return null
  const means = new Map(series.at_us.map((at, index) => [at, series.mean[index] ?? null]))
  return atUs.map(at => means.get(at) ?? null)
}

export function stepColumns(page: SeriesPage): StepColumns | null {
  const step = find(page, 'step_us')
  if (!step || step.at_us.length === 0) return null
  const total = step.mean
  const wait = aligned(find(page, 'data_wait_us'), step.at_us) ?? total.map(() => null)
  const copy = aligned(find(page, 'h2d_exposed_us'), step.at_us)
  const idle = aligned(find(page, 'gpu_idle_us'), step.at_us)
  const { p50, p95, p99 } = step
  return {
    atS: step.at_us.map(at => at / 1e6),
    firstIndex: step.first_index,
    total,
    wait,
    copy,
    compute: total.map((all, index) => rest(all, wait[index] ?? null, copy?.[index] ?? 0)),
    spread: p50 && p95 && p99 ? { p50, p95, p99 } : null,
    idle: idle && total.map((all, index) => share(idle[index] ?? null, all)),
    stepsPerBucket: median(step.count.length > 1 ? step.count.slice(0, -1) : step.count),
  }
}

function share(part: number | null, all: number | null): number | null {
  return part === null || !all ? null : part / all
}

function rest(total: number | null, wait: number | null, copy: number): number | null {
  return total === null || wait === null ? null : Math.max(0, total - wait - copy)
}

export function lineColumns(page: SeriesPage, metric: string): LineColumns | null {
  const series = find(page, metric)
  if (!series) return null
  return { atS: series.at_us.map(at => at / 1e6), mean: series.mean, missing: series.missing }
}

/** The step that was under way at `atS`: a range in time becomes a range in steps, which the service asks for. */
export function stepAt(columns: StepColumns, atS: number): number {
  const after = columns.atS.findIndex(at => at > atS)
  if (after === 0) return columns.firstIndex[0] ?? 0
  const index = after === -1 ? columns.atS.length - 1 : after - 1
  const [from, to] = [columns.atS[index] ?? 0, columns.atS[index + 1]]
  const first = columns.firstIndex[index] ?? 0
  const next = columns.firstIndex[index + 1]
  if (to === undefined || next === undefined) return first
  return Math.floor(first + ((atS - from) / (to - from)) * (next - first))
}

/**
 * Where the newest `spanS` begin. The buckets on the page are newer than those of the whole run, so the range slides
 * along while a run goes on; but after a zoom they may lie elsewhere.
 */
export function newestFrom(
  whole: StepColumns | null,
  shown: StepColumns | null,
  spanS: number,
): number | null {
  const endS = Math.max(whole?.atS.at(-1) ?? 0, shown?.atS.at(-1) ?? 0)
  const covering = [shown, whole].find(columns => columns && covers(columns, endS - spanS))
  return covering ? stepAt(covering, endS - spanS) : null
}

function covers({ atS }: StepColumns, instantS: number): boolean {
  return (atS[0] ?? Infinity) <= instantS && instantS <= (atS.at(-1) ?? -Infinity)
}

/** The bucket that `atS` falls into; `null` before the first. */
export function bucketAt(atS: readonly number[], instantS: number): number | null {
  let low = 0
  let high = atS.length
  while (low < high) {
    const middle = (low + high) >> 1
    if ((atS[middle] ?? 0) <= instantS) low = middle + 1
    else high = middle
  }
  return low === 0 ? null : low - 1
}

/** The newest measured value. */
export function last(column: Column): number | null {
  return column.findLast(value => value !== null) ?? null
}

export function measured(column: Column): readonly number[] {
  return column.filter(value => value !== null)
}

export function quantile(values: readonly number[], share: number): number {
  const sorted = [...values].sort((a, b) => a - b)
  return sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? 1
}

/** At most `rows` evenly spread indices, the newest among them: for "as table". */
export function thinned(length: number, rows: number): readonly number[] {
  if (length <= rows) return Array.from({ length }, (_, index) => index)
  return Array.from({ length: rows }, (_, index) => Math.round((index * (length - 1)) / (rows - 1)))
}

function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b)
  return sorted[sorted.length >> 1] ?? 0
}
