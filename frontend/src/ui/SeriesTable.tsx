/** The figures behind the panels over time. */
import { formatDuration, formatElapsed, formatFraction, formatNumber, NOT_MEASURED } from '../format'
import { thinned } from '../store/columns'
import { charts as say } from '../text'
import { DataTable } from './DataTable'
import { type Panels, valueAt } from './panels'

const ROWS = 24

export function SeriesTable({ panels: { steps, queue, util } }: { panels: Panels }) {
  const rows = thinned(steps.atS.length, ROWS).map(index => {
    const atS = steps.atS[index] ?? 0
    const ready = valueAt(queue, atS)
    return [
      formatElapsed(Math.round(atS), steps.atS.at(-1)),
      formatNumber(steps.firstIndex[index] ?? null),
      formatDuration(steps.wait[index] ?? null),
      steps.copy ? formatDuration(steps.copy[index] ?? null) : NOT_MEASURED,
      formatDuration(steps.compute[index] ?? null),
      formatDuration(steps.total[index] ?? null),
      ready === null ? NOT_MEASURED : ready.toFixed(1),
      formatFraction(valueAt(util, atS)),
    ]
  })
  return <DataTable caption={say.title} columns={Object.values(say.columns)} rows={rows} isNumeric />
}
