/** Shown until the list arrives: its rows, in the columns that it will have. */
import { useRef } from 'preact/hooks'
import { text } from '../../text/shared'
import { NAME_PX } from './columns'
import { useColumns } from './RunsTable'
import { useRoom } from './width'
import '../parts/Skeleton.css'

const ROWS = Array.from({ length: 14 }, (_, row) => row)

export function RunsSkeleton() {
  const whole = useRef<HTMLDivElement>(null)
  const columns = useColumns()
  useRoom(whole)
  const grid = `minmax(0, 1fr) ${columns.map(({ width }) => `${width}px`).join(' ')}`
  return (
    <div class="skeleton" role="status" aria-label={text.loading} ref={whole}>
      {ROWS.map(row => (
        <div key={row} class="skeleton-row" style={{ gridTemplateColumns: grid }}>
          {[NAME_PX, ...columns.map(({ width }) => width)].map((width, cell) => (
            <i
              key={cell}
              class="skeleton-part"
              style={{ width: `${Math.round(width * (0.75 - ((row * 7 + cell * 3) % 10) / 30))}px` }}
            />
          ))}
        </div>
      ))}
    </div>
  )
}
