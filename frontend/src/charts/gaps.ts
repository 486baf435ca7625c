/** Stretches of a run in which nothing was trained with the loader that is shown: no step is drawn there, and no line across. */
import type { SeriesPage } from '../api/schema'
import { quantile, type Stretch } from './columns'

/** In seconds of the run clock. Between two that are nearer than half a step no step was. */
export function gapsOf({ pauses, series }: Pick<SeriesPage, 'pauses' | 'series'>): readonly Stretch[] {
  const step = series.find(({ metric }) => metric === 'step_us')
  const near = quantile(step?.mean ?? [], 0.5) / 2e6
  const gaps: Stretch[] = []
  for (const { start_us, end_us } of pauses) {
    const [from, to] = [start_us / 1e6, end_us / 1e6]
    const before = gaps.at(-1)
    if (before && from - before.to < near) before.to = Math.max(before.to, to)
    else gaps.push({ from, to })
  }
  return gaps
}
