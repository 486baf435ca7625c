/** A share of loading, with what chance may have added to it or taken away. */
import { formatFraction } from '../../../format'
import { hotspots as say } from '../../../text/hotspots'

/** Half of the interval that holds the true share in 95 of 100 cases (Agresti and Coull's, which is none of nothing). */
export function marginOf(fraction: number, samples: number): number {
  const [seen, all] = [fraction * samples + 2, samples + 4]
  const share = seen / all
  return 2 * Math.sqrt((share * (1 - share)) / all)
}

/** In points: `"3"`, below one `"0.4"`. */
export function marginText(fraction: number, samples: number): string {
  const points = 100 * marginOf(fraction, samples)
  return points < 0.95 ? points.toFixed(1) : String(Math.round(points))
}

export function shareText(fraction: number, samples: number): string {
  return `${formatFraction(fraction)} ${say.margin(marginText(fraction, samples))}`
}
