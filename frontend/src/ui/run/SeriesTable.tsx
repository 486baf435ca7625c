/** The figures behind the panels over time: to be read, and to be taken away. */
import type { Table } from '../../csv'
import { formatDuration, formatElapsed, formatFraction, formatNumber, NOT_MEASURED } from '../../format'
import { type Column, thinned } from '../../store/columns'
import { charts as say } from '../../text/charts'
import { DataTable } from '../parts/DataTable'
import { type Panels, valueAt } from './panels'

const ROWS = 24

export function SeriesTable({ panels }: { panels: Panels }) {
  const { steps, queue, util, frame } = panels
  const rows = thinned(steps.atS.length, ROWS).map(index => {
    const atS = steps.atS[index] ?? 0
    const ready = valueAt(queue, atS)
    return [
      formatElapsed(Math.round(atS), steps.atS.at(-1)),
      formatNumber(steps.firstIndex[index] ?? null),
      ...parts(panels).map(([, column]) => formatDuration(column?.[index] ?? null)),
      ready === null ? NOT_MEASURED : ready.toFixed(1),
      formatFraction(valueAt(util, atS)),
      formatFraction(steps.idle?.[index] ?? null),
    ]
  })
  const { at, step, ready, busy, idle } = say.columns
  const columns = [at, step, ...parts(panels).map(([name]) => name), ready, busy, idle]
  const happened = frame.marks.map(mark => [formatElapsed(Math.round(mark.atS), frame.toS), mark.label])
  return (
    <>
      <DataTable caption={say.title} columns={columns} rows={rows} isNumeric />
      {happened.length > 0 && (
        <DataTable caption={say.eventsTitle} columns={say.eventColumns} rows={happened} />
      )}
    </>
  )
}

/** Parts of the mean step, or percentiles of the whole one: what the first chart shows. */
function parts({ steps }: Panels): readonly (readonly [string, Column | null])[] {
  const { spread } = steps
  if (spread) return (['p50', 'p95', 'p99'] as const).map(name => [say.spread[name], spread[name]])
  const { wait, copy, compute, total } = say.columns
  return [
    [wait, steps.wait],
    [copy, steps.copy],
    [compute, steps.compute],
    [total, steps.total],
  ]
}

/** Every bucket that is drawn. */
export function seriesFigures(panels: Panels): Table {
  const { steps, queue, util } = panels
  const named = steps.spread
    ? ['p50_step_us', 'p95_step_us', 'p99_step_us']
    : ['data_wait_us', 'h2d_exposed_us', 'compute_us', 'step_us']
  return {
    columns: ['at_s', 'first_step', ...named, 'queue_depth', 'gpu_util_fraction', 'gpu_idle_fraction'],
    rows: steps.atS.map((atS, index) => [
      atS,
      steps.firstIndex[index] ?? null,
      ...parts(panels).map(([, column]) => column?.[index] ?? null),
      valueAt(queue, atS),
      valueAt(util, atS),
      steps.idle?.[index] ?? null,
    ]),
  }
}
