/** What a loader's loading threads were seen to execute: read for a run, a loader and a rank, and kept fresh. */
import { get } from '../api/client'
import type { HotspotsPage } from '../api/schema'
import { openResource } from './resource'

/** Bursts of samples are handed over every 20 s. */
const REST_MS = 15_000

export interface HotspotsOf {
  /** `null`: the one that the run's verdict is about. */
  loader: string | null
  /** `null`: all together. */
  rank: number | null
  of: HotspotsPage['of']
}

export function openHotspots(runId: string, first: HotspotsOf) {
  let chosen = first
  const page = openResource<HotspotsPage>(
    stop => {
      const asking = { path: { run_id: runId }, query: { ...chosen } }
      return get('/api/v1/runs/{run_id}/hotspots', asking, stop)
    },
    { restMs: REST_MS, topics: [`run:${runId}`] },
  )
  return {
    page,
    /** What was read before stays until this is. */
    choose(next: HotspotsOf) {
      if (next.loader === chosen.loader && next.rank === chosen.rank && next.of === chosen.of) return
      chosen = next
      void page.read()
    },
    close: page.close,
  }
}
