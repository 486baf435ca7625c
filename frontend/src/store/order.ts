/** How runs are ordered: the service's `sort`, repeated here so that live rows can be put in order. */
import type { Signal } from '@preact/signals'
import type { RunSummary } from '../api/schema'
import { leastGainOf } from '../gain'
import { type ConfigColumn, configKey } from './chosen'

const KEYS = {
  name: (run: RunSummary) => run.name,
  status: (run: RunSummary) => run.status,
  data_stall_fraction: (run: RunSummary) => run.data_stall_fraction,
  hours_lost: (run: RunSummary) => run.hours_lost,
  predicted_speedup: (run: RunSummary) => run.best_advice && leastGainOf(run.best_advice),
  step_us: (run: RunSummary) => run.step_us,
  started_at: (run: RunSummary) => run.started_at,
  deleted_at: (run: RunSummary) => run.deleted_at ?? null,
}

/** `config:` and a key: by values of the configuration, which only the service puts in order. */
export type SortKey = keyof typeof KEYS | ConfigColumn
/** `-` in front: largest first. */
export type Sort = SortKey | `-${SortKey}`

const DEFAULT_SORT: Sort = '-hours_lost'

export function parseSort(asked: string | null): Sort {
  const isKnown = asked && (keyOf(asked) in KEYS || configKey(keyOf(asked)))
  return isKnown ? (asked as Sort) : DEFAULT_SORT
}

export function keyOf(sort: string): SortKey {
  return sort.replace(/^-/, '') as SortKey
}

/** Pressing a column's head, also of jobs: largest first, then smallest first; names the other way round. */
export function nextSort(current: string, pressed: string): string {
  const first = pressed === 'name' || pressed === 'status' ? pressed : `-${pressed}`
  const second = first === pressed ? `-${pressed}` : pressed
  return current === first ? second : first
}

type Rows = ReadonlyMap<string, Signal<RunSummary>>

/** Runs without the value come last either way, as from the service; ties keep their order. */
export function sortedIds(ids: readonly string[], rows: Rows, sort: Sort): readonly string[] {
  const value = KEYS[keyOf(sort) as keyof typeof KEYS]
  // A configuration does not change: the runs stay as the service sorted them.
  if (!value) return ids
  const sign = sort.startsWith('-') ? -1 : 1
  const keyed = ids.map(id => ({ id, key: value((rows.get(id) as Signal<RunSummary>).peek()) }))
  return keyed.sort((a, b) => sign * compare(a.key, b.key, sign)).map(entry => entry.id)
}

function compare(a: string | number | null, b: string | number | null, sign: number): number {
  if (a === b) return 0
  if (a === null) return sign
  if (b === null) return -sign
  return a < b ? -1 : 1
}

/** How many rows have another position in `after`. */
export function movedRows(before: readonly string[], after: readonly string[]): number {
  return before.filter((id, index) => after[index] !== id).length
}
