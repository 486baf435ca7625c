/** What stands in for data on its way: the real shapes, seen only when it takes long enough to notice. */
import { text } from '../../text'

export function Skeleton() {
  return (
    <div class="skeleton" role="status" aria-label={text.loading}>
      <i class="skeleton-line" />
      <i class="skeleton-sentence" />
      <i class="skeleton-line" />
      <i class="skeleton-chart" />
    </div>
  )
}
