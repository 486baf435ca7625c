/** Shown until data arrives: the shapes of what will come, after a short delay. */
import { text } from '../../text/shared'
import './Skeleton.css'

export function Skeleton() {
  return (
    <div class="skeleton" role="status" aria-label={text.loading}>
      <i class="skeleton-part" />
      <i class="skeleton-part sentence-like" />
      <i class="skeleton-part" />
      <i class="skeleton-part chart-like" />
    </div>
  )
}

/** As high as most charts of a run. */
export function ChartsSkeleton() {
  return (
    <div class="skeleton charts-like" role="status" aria-label={text.loading}>
      <i class="skeleton-part" />
      <i class="skeleton-part chart-like" />
    </div>
  )
}
