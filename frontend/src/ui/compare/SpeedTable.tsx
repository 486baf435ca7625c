/** The figures behind the lines of compared runs. */
import type { ComparedRun } from '../../api/names'
import type { Table } from '../../csv'
import { formatDuration, formatFactor, formatNumber } from '../../format'
import { compare as say } from '../../text/compare'
import { DataTable } from '../parts/DataTable'

const COLUMNS = ['speedup', 'low', 'high', 'steps_per_s', 'samples_per_s'] as const
const PARTS = ['step_us', 'data_wait_us', 'h2d_exposed_us', 'compute_us'] as const

/** To be taken away. */
export function speedFigures(runs: readonly ComparedRun[]): Table {
  return {
    columns: ['run_id', ...COLUMNS, ...PARTS],
    rows: runs.map(({ run, speed, steps_per_s, samples_per_s, anatomy }) => [
      run.run_id,
      ...[speed?.factor ?? null, speed?.low ?? null, speed?.high ?? null, steps_per_s, samples_per_s],
      ...PARTS.map(part => anatomy?.[part] ?? null),
    ]),
  }
}

/** To be read. */
export function SpeedTable({ runs }: { runs: readonly ComparedRun[] }) {
  const rows = speedFigures(runs).rows.map((row, place) => {
    const [factor, low, high, steps, samples, ...parts] = row.slice(1) as (number | null)[]
    return [
      runs[place]?.label,
      ...[factor, low, high].map(one => formatFactor(one ?? null)),
      ...[steps, samples].map(one => formatNumber(one ?? null)),
      ...parts.map(formatDuration),
    ]
  })
  return <DataTable caption={say.what} columns={say.figures} rows={rows} isNumeric />
}
