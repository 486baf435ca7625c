/** Which runs are asked for: the filters in the address, checked, as the service wants them. */
import type { Bound, Status } from '../api/names'
import { parseSort, type Sort } from './order'

export interface RunsQuery {
  q: string
  status: Status | null
  bound: Bound | null
  project: string | null
  tag: string | null
  sort: Sort
}

export const STATUSES = ['running', 'finished', 'crashed', 'lost'] as const
export const BOUNDS = ['data', 'transfer', 'compute', 'host', 'unknown'] as const

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
    sort: parseSort(query.get('sort')),
  }
}

export function isFiltered(query: RunsQuery): boolean {
  return Boolean(query.q || query.status || query.bound || query.project || query.tag)
}
