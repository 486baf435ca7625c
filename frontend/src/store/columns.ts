/** Where the buckets of a series lie: a range in time becomes a range in steps, which the service asks for. */
import type { SeriesPage } from '../api/schema'

/** Ascending; times are seconds of the run clock. */
export interface StepColumns {
  atS: readonly number[]
  firstIndex: readonly number[]
}

/** `null`: no step was recorded yet. */
export function stepColumns(page: SeriesPage): StepColumns | null {
  const step = page.series.find(series => series.metric === 'step_us')
  if (!step || step.at_us.length === 0) return null
  return { atS: step.at_us.map(at => at / 1e6), firstIndex: step.first_index }
}

/** The step in progress at `atS`. */
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
