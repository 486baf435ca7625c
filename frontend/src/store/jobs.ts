/** The list grouped by job: read page by page, and again while runs report. */
import { computed, signal } from '@preact/signals'
import { get, type ServiceError } from '../api/client'
import type { JobLine, JobsPage, RunsPage } from '../api/schema'
import { subscribe } from './connection'
import { type RunsFilter, requested } from './filter'
import { onlyNewest } from './resource'
import { reuse } from './reuse'
import { throttled } from './throttle'

const PAGE = 100
/** The service sends at most this many at once. */
const MOST = 1_000
/** Of an opened job; the rest is a list of its own. */
export const MOST_OPENED = 50
const REST_MS = 5_000

export function openJobs(filter: RunsFilter) {
  const lines = signal<readonly JobLine[] | null>(null)
  const cursor = signal<string | null>(null)
  const failure = signal<ServiceError | null>(null)
  const requests = onlyNewest(failure)
  const { config: _, deleted: __, ...asked } = filter

  function read(from: string | null, limit: number): Promise<void> {
    return requests.read(
      stop => get('/api/v1/jobs', { query: { ...asked, q: asked.q || null, limit, cursor: from } }, stop),
      (page: JobsPage) => {
        const all = from === null ? page.jobs : [...(lines.peek() ?? []), ...page.jobs]
        lines.value = reuse(lines.peek(), all)
        cursor.value = page.next_cursor
      },
    )
  }
  const refresh = throttled(
    () => void read(null, Math.min(MOST, Math.max(PAGE, lines.peek()?.length ?? 0))),
    REST_MS,
  )
  const unsubscribe = subscribe(['runs'], { onEvent: refresh, onMissed: refresh })
  refresh()
  return {
    lines,
    trouble: computed(() => failure.value),
    isPartial: computed(() => cursor.value !== null),
    more: () => (cursor.value ? read(cursor.value, PAGE) : Promise.resolve()),
    close() {
      unsubscribe()
      refresh.cancel()
      requests.stop()
    },
  }
}

/** The newest runs of a job that pass the filter. */
export function readRunsOf(filter: RunsFilter, line: JobLine, stop: AbortSignal): Promise<RunsPage> {
  const of = { ...filter, project: line.project, sort: '-started_at' as const, config: [] }
  return get('/api/v1/runs', { query: { ...requested(of, MOST_OPENED, null), job: line.job } }, stop)
}
