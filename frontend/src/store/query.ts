/** Which runs are asked for: the filters in the address, checked, as the service wants them. */
import type { Bound, Status } from '../api/names'
import { parseSort, type Sort } from './order'

export interface RunsQuery {
  q: string
  status: Status | null
  bound: Bound | null
  project: string | null
  tag: string | null
  archived: Archived | null
  sort: Sort
}

/** Runs that were put away: these alone, or these too; `null`: not, unless the search speaks of them. */
export type Archived = 'true' | 'any'

export const STATUSES = ['running', 'finished', 'crashed', 'lost'] as const
export const BOUNDS = ['data', 'transfer', 'compute', 'host', 'unknown'] as const

export const ARCHIVED = ['true', 'any'] as const

function oneOf<T extends string>(allowed: readonly string[], value: string | null): T | null {
  return value !== null && allowed.includes(value) ? (value as T) : null
}

export function parseQuery(query: URLSearchParams): RunsQuery {
  return {
    q: query.get('q') ?? '',
    status: oneOf<Status>(STATUSES, query.get('status')),
    bound: oneOf<Bound>(BOUNDS, query.get('bound')),
    project: query.get('project'),
    tag: query.get('tag'),
    archived: oneOf<Archived>(ARCHIVED, query.get('archived')),
    sort: parseSort(query.get('sort')),
  }
}

/** The service answers with no more runs at once. */
export const MOST = 5_000

/** As the service takes it. */
export function requested({ q, ...rest }: RunsQuery, limit: number, cursor: string | null) {
  return { ...rest, q: q || null, limit, cursor }
}

export function isFiltered(query: RunsQuery): boolean {
  return Boolean(query.q || query.status || query.bound || query.project || query.tag || query.archived)
}
