/** How long a run has been going, from both ends by the service's clock: ours may be wrong. */
import type { RunSummary } from '../../api/schema'

export function ageS(run: RunSummary): number {
  return (Date.parse(run.ended_at ?? run.last_seen_at) - Date.parse(run.started_at)) / 1_000
}
