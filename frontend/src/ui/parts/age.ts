/** How long a run has been going, from both ends by the service's clock: ours may be wrong. */
import { serviceNow } from '../../api/client'
import type { RunSummary } from '../../api/schema'

export function ageS(run: RunSummary): number {
  return (Date.parse(run.ended_at ?? run.last_seen_at) - Date.parse(run.started_at)) / 1_000
}

/** Since its last data. */
export function silentS(run: Pick<RunSummary, 'last_seen_at'>, ourNow = Date.now()): number {
  return (serviceNow(ourNow) - Date.parse(run.last_seen_at)) / 1_000
}
