/** Runs side by side: the comparison and their series, read when the address changes and when one of them goes on. */
import { type Signal, signal } from '@preact/signals'
import { get, NoAnswer, ServiceError } from '../api/client'
import type { Comparison, Run, SeriesPage } from '../api/names'
import { OVERLAYS } from '../charts/declared/compare'
import { asked, follow } from './connection'
import { readEarlier } from './earlier'
import { throttled } from './throttle'

export const MOST_COMPARED = 8

const BUCKETS = 240
/** Eight runs are read again at once: calmer than a single one. */
const REFRESH_MS = 4_000

export interface ComparisonStore {
  comparison: Signal<Comparison | null>
  series: Signal<ReadonlyMap<string, SeriesPage>>
  trouble: Signal<ServiceError | null>
  choose(ids: readonly string[]): void
  close(): void
}

export function openComparison(): ComparisonStore {
  const comparison = signal<Comparison | null>(null)
  const series = signal<ReadonlyMap<string, SeriesPage>>(new Map())
  const trouble = signal<ServiceError | null>(null)
  let chosen: readonly string[] = []
  let control = new AbortController()
  let unfollow = () => {}

  async function read(): Promise<void> {
    control.abort()
    control = new AbortController()
    const [ids, stop] = [chosen, control.signal]
    if (ids.length < 2) return
    try {
      const found = await asked(get('/api/v1/compare', { query: { run_id: [...ids] } }, stop))
      if (found === null || stop.aborted) return
      comparison.value = found
      trouble.value = null
      const pages = await Promise.all(ids.map(id => asked(readSeries(id, stop))))
      if (!stop.aborted)
        series.value = new Map(pages.filter(page => page !== null).map(page => [page.run_id, page]))
    } catch (error) {
      if (!(error instanceof ServiceError)) throw error
      if (!stop.aborted) trouble.value = error
    }
  }

  const refresh = throttled(() => void read(), REFRESH_MS)

  return {
    comparison,
    series,
    trouble,
    choose(ids) {
      chosen = ids
      trouble.value = null
      unfollow()
      unfollow = follow(
        ids.map(id => `run:${id}`),
        event => chosen.includes(event.run.run_id) && refresh(),
        refresh,
      )
      void read()
    },
    close() {
      unfollow()
      refresh.cancel()
      control.abort()
    },
  }
}

function readSeries(runId: string, stop: AbortSignal): Promise<SeriesPage> {
  const asking = {
    path: { run_id: runId },
    query: { metric: OVERLAYS.map(({ metric }) => metric), buckets: BUCKETS },
  }
  return get('/api/v1/runs/{run_id}/series', asking, stop)
}

/** Which runs, in the order of the address; each once, no more than can be compared. */
export function chosenRuns(query: URLSearchParams): readonly string[] {
  return [...new Set(query.getAll('run_id').filter(Boolean))].slice(0, MOST_COMPARED)
}

/** The first is the baseline; what else `query` holds stays. */
export function compareHref(ids: readonly string[], query = new URLSearchParams()): string {
  const next = new URLSearchParams(query)
  next.delete('run_id')
  for (const id of ids) next.append('run_id', id)
  return next.size > 0 ? `/compare?${next}` : '/compare'
}

/** With the newest earlier run of the same job, else alone, to choose another one. */
export async function compareWithEarlier(run: Pick<Run, 'run_id' | 'job' | 'started_at'>): Promise<string> {
  try {
    const earlier = await readEarlier(run)
    return compareHref(earlier ? [earlier.run_id, run.run_id] : [run.run_id])
  } catch (error) {
    if (!(error instanceof ServiceError || error instanceof NoAnswer)) throw error
    return compareHref([run.run_id])
  }
}
