/** The listed runs as a table for spreadsheets: raw figures, units in the heads, every run that passes the filter. */
import { get } from '../api/client'
import type { RunSummary, RunsPage } from '../api/schema'
import type { Cell, Table } from '../csv'
import { formatTags } from '../format'
import { type Factors, runFactors } from '../gain'
import { configColumn } from './chosen'
import { asked } from './connection'
import { MOST, type RunsFilter, requested } from './filter'

type Columns = Readonly<Record<string, (run: RunSummary) => Cell>>

/** As the service has them. */
function asTheyAre(...names: readonly (keyof RunSummary)[]): Columns {
  return Object.fromEntries(names.map(name => [name, run => run[name] as Cell]))
}

/** What the run gains by its best advice, where that promises a gain. */
function gainOfRun(name: keyof Factors): (run: RunSummary) => Cell {
  return ({ best_advice: best }) => (best ? runFactors(best)[name] : null)
}

const COLUMNS: Columns = {
  ...asTheyAre('run_id', 'name', 'project', 'user'),
  hosts: run => run.hostnames.join(' '),
  tags: run => formatTags(run.tags).join(' '),
  ...asTheyAre('status', 'bound', 'level', 'cause', 'data_stall_fraction', 'copy_fraction', 'hours_lost'),
  ...asTheyAre('gpu_hours_lost'),
  best_change: run => run.best_advice?.change ?? null,
  predicted_speedup: gainOfRun('gain'),
  low: gainOfRun('low'),
  high: gainOfRun('high'),
  ...asTheyAre('observed_speedup', 'step_us', 'steps', 'samples_per_s'),
  ranks: run => run.world_size,
  ...asTheyAre('gpus', 'gpu_name', 'num_workers', 'started_at', 'last_seen_at', 'ended_at'),
}

/** With a column for each `config` that was asked for. */
export function tableOf({ runs, config }: Listed, keys: readonly string[]): Table {
  const values = Object.values(COLUMNS)
  return {
    columns: [...Object.keys(COLUMNS), ...keys.map(configColumn)],
    rows: runs.map(run => [
      ...values.map(value => value(run)),
      ...keys.map(key => cellOf(config[run.run_id]?.[key])),
    ]),
  }
}

const cellOf = (setting: boolean | number | string | null | undefined): Cell =>
  typeof setting === 'boolean' ? String(setting) : (setting ?? null)

export interface Listed {
  runs: readonly RunSummary[]
  config: NonNullable<RunsPage['config']>
}

/** Every run that passes the filter, page by page. `null`: nobody answered, or a sign-in is needed. Raises: ServiceError. */
export async function readAll(filter: RunsFilter): Promise<Listed | null> {
  const found = new Map<string, RunSummary>()
  const config: Listed['config'] = {}
  let cursor: string | null = null
  do {
    const page: RunsPage | null = await asked(get('/api/v1/runs', { query: requested(filter, MOST, cursor) }))
    if (!page) return null
    // A run whose value changed in between may come twice.
    for (const run of page.runs) found.set(run.run_id, run)
    Object.assign(config, page.config)
    cursor = page.next_cursor
  } while (cursor)
  return { runs: [...found.values()], config }
}
