/** Which runs are asked for: the filter in the address, checked, as the service wants it. */
import { computed } from '@preact/signals'
import type { RunSummary } from '../api/schema'
import { route } from '../router'
import { configKeys } from './chosen'
import { parseSort, type Sort } from './order'
import { reuse } from './reuse'

export interface RunsFilter {
  q: string
  status: RunSummary['status'] | null
  bound: RunSummary['bound'] | null
  project: string | null
  tag: string | null
  archived: Archived | null
  /** Deleted runs that can be restored, and no others. */
  deleted: boolean
  sort: Sort
  /** Keys of configurations whose values are shown beside the runs. */
  config: readonly string[]
}

/** Archived runs: these alone, or these too; `null`: none, unless the search speaks of them. */
export type Archived = (typeof ARCHIVED)[number]

export const STATUSES = ['running', 'finished', 'crashed', 'lost'] as const
export const BOUNDS = ['data', 'transfer', 'compute', 'host', 'unknown'] as const
export const ARCHIVED = ['true', 'any'] as const

function oneOf<T extends string>(allowed: readonly T[], value: string | null): T | null {
  return allowed.find(one => one === value) ?? null
}

export function parseFilter(query: URLSearchParams, config: readonly string[] = []): RunsFilter {
  const deleted = query.get('deleted') === 'true'
  return {
    q: query.get('q') ?? '',
    status: oneOf(STATUSES, query.get('status')),
    bound: oneOf(BOUNDS, query.get('bound')),
    project: query.get('project'),
    tag: query.get('tag'),
    archived: oneOf(ARCHIVED, query.get('archived')),
    deleted,
    sort: parseSort(query.get('sort') ?? (deleted ? '-deleted_at' : null)),
    config,
  }
}

let before: RunsFilter | null = null

/** What the address of the list asks for; the same object while that is the same. */
export const listFilter = computed(() => {
  before = reuse(before, parseFilter(route.value.query, configKeys.value))
  return before
})

/** The service sends at most this many runs at once. */
export const MOST = 5_000

/** As the service takes it. */
export function requested({ q, config, ...rest }: RunsFilter, limit: number, cursor: string | null) {
  return { ...rest, q: q || null, config: [...config], limit, cursor }
}

/** `null`: nothing was asked for yet. */
export function isFiltered(filter: RunsFilter | null): boolean {
  if (filter === null) return false
  const { sort: _, config: __, ...rest } = filter
  return Object.values(rest).some(Boolean)
}
