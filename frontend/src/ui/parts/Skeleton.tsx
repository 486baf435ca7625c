/** What stands in for data on its way: the real shapes, seen only when it takes long enough to notice. */
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
