/** The listed runs as a table for spreadsheets: raw figures, units in the heads, every run that passes the filter. */
import { get } from '../api/client'
import type { RunSummary, RunsPage } from '../api/names'
import type { Cell, Table } from '../csv'
import { formatTag } from '../format'
import { asked } from './connection'
import { MOST, type RunsFilter, requested } from './filter'

const COLUMNS: Readonly<Record<string, (run: RunSummary) => Cell>> = {
  run_id: run => run.run_id,
  name: run => run.name,
  project: run => run.project,
  user: run => run.user,
  hosts: run => run.hostnames.join(' '),
  tags: run =>
    Object.entries(run.tags)
      .map(([key, value]) => formatTag(key, value))
      .join(' '),
  status: run => run.status,
  bound: run => run.bound,
  level: run => run.level,
  cause: run => run.cause,
  data_stall_fraction: run => run.data_stall_fraction,
  hours_lost: run => run.hours_lost,
  gpu_hours_lost: run => run.gpu_hours_lost,
  predicted_speedup: run => run.best_advice?.predicted_speedup ?? null,
  observed_speedup: run => run.observed_speedup,
  step_us: run => run.step_us,
  steps: run => run.steps,
  samples_per_s: run => run.samples_per_s,
  ranks: run => run.world_size,
  gpus: run => run.gpus,
  gpu_name: run => run.gpu_name,
  num_workers: run => run.num_workers,
  started_at: run => run.started_at,
  last_seen_at: run => run.last_seen_at,
  ended_at: run => run.ended_at,
}

export function tableOf(runs: readonly RunSummary[]): Table {
  const values = Object.values(COLUMNS)
  return { columns: Object.keys(COLUMNS), rows: runs.map(run => values.map(value => value(run))) }
}

/** Every run that passes the filter, page by page. `null`: nobody answered, or a sign-in is needed. Raises: ServiceError. */
export async function readAll(filter: RunsFilter): Promise<readonly RunSummary[] | null> {
  const found = new Map<string, RunSummary>()
  let cursor: string | null = null
  do {
    const page: RunsPage | null = await asked(get('/api/v1/runs', { query: requested(filter, MOST, cursor) }))
    if (!page) return null
    // A run whose value changed in between may come twice.
    for (const run of page.runs) found.set(run.run_id, run)
    cursor = page.next_cursor
  } while (cursor)
  return [...found.values()]
}
