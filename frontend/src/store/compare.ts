/** Runs side by side: the comparison and their series, read when the address changes and when one of them goes on. */
import { computed } from '@preact/signals'
import { get } from '../api/client'
import type { Comparison, SeriesPage } from '../api/schema'
import { OVERLAYS } from '../charts/declared/compare'
import { subscribe } from './connection'
import { openResource } from './resource'

const BUCKETS = 240
/** Eight runs are read again at once: less often than a single one. */
const REST_MS = 4_000

export function openComparison() {
  let chosen: readonly string[] = []
  let unsubscribe = () => {}
  const comparison = openResource<Comparison>(
    stop => get('/api/v1/compare', { query: { run_id: [...chosen] } }, stop),
    { restMs: REST_MS },
  )
  const pages = openResource<SeriesPage[]>(stop => Promise.all(chosen.map(id => readSeries(id, stop))), {
    restMs: REST_MS,
  })

  function refresh(): void {
    comparison.refresh()
    pages.refresh()
  }

  return {
    comparison,
    series: computed(
      (): ReadonlyMap<string, SeriesPage> => new Map(pages.value?.map(page => [page.run_id, page])),
    ),
    /** What was compared before stays until these are read. */
    choose(ids: readonly string[]) {
      chosen = ids
      unsubscribe()
      if (ids.length < 2) return
      const topics = ids.map(id => `run:${id}`)
      unsubscribe = subscribe(topics, { onEvent: refresh, onMissed: refresh })
      void comparison.read()
      void pages.read()
    },
    close() {
      unsubscribe()
      comparison.close()
      pages.close()
    },
  }
}

function readSeries(runId: string, stop: AbortSignal): Promise<SeriesPage> {
  const asking = {
    path: { run_id: runId },
    // With it comes what the program did beside training.
    query: { metric: [...OVERLAYS.map(({ metric }) => metric), 'pause_us'], buckets: BUCKETS },
  }
  return get('/api/v1/runs/{run_id}/series', asking, stop)
}
