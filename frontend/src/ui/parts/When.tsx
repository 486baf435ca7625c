/** An instant in a list of what happened: its day and time, the second under the pointer. */
import { serviceNow } from '../../api/client'
import { formatDay, formatInstant, inZone } from '../../format'

export function When({ at }: { at: string }) {
  const instant = new Date(at)
  return (
    <time class="faint" dateTime={at} title={formatInstant(instant)}>
      {inZone(formatDay(instant, new Date(serviceNow())))}
    </time>
  )
}
