/** When things happened, and for how long: by the service's clock, since ours may be wrong. */
import { serviceNow } from '../../api/client'
import type { RunSummary } from '../../api/schema'
import { formatDay, formatInstant, inZone } from '../../format'

/** An instant in a list of what happened: its day and time, the second under the pointer. */
export function When({ at }: { at: string }) {
  const instant = new Date(at)
  return (
    <time class="faint" dateTime={at} title={formatInstant(instant)}>
      {inZone(formatDay(instant, new Date(serviceNow())))}
    </time>
  )
}

/** How long a run has been going. */
export function ageS(run: RunSummary): number {
  return (Date.parse(run.ended_at ?? run.last_seen_at) - Date.parse(run.started_at)) / 1_000
}

/** Since its last data. */
export function silentS(run: Pick<RunSummary, 'last_seen_at'>, ourNow = Date.now()): number {
  return (serviceNow(ourNow) - Date.parse(run.last_seen_at)) / 1_000
}
