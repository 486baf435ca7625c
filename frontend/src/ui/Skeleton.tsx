/** What stands in for data on its way: the real shapes, seen only when it takes long enough to notice. */
import { text } from '../text'

const ROWS = Array.from({ length: 14 }, (_, row) => row)
/** Widths of the runs table's cells, in pixels. */
const CELLS = [150, 70, 120, 120, 88, 40, 40, 50]

export function RunsSkeleton() {
  return (
    <div class="skeleton" role="status" aria-label={text.loading}>
      {ROWS.map(row => (
        <div key={row} class="skeleton-row">
          {CELLS.map((width, cell) => (
            <i
              key={cell}
              style={{ width: `${Math.round(width * (1 - ((row * 7 + cell * 3) % 10) / 30))}px` }}
            />
          ))}
        </div>
      ))}
    </div>
  )
}

export function RunSkeleton() {
  return (
    <div class="skeleton" role="status" aria-label={text.loading}>
      <i class="skeleton-line" />
      <i class="skeleton-sentence" />
      <i class="skeleton-line" />
      <i class="skeleton-chart" />
    </div>
  )
}
