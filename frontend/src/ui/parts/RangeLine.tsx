/** A figure with its interval, as a point on a line; a tick marks 1, with which it is compared. */
import './RangeLine.css'

interface RangeLineProps {
  from: number
  to: number
  value: number | null
  low: number | null
  high: number | null
  /** Marked as 1 is. */
  ceiling?: number | null
}

export function RangeLine({ from, to, value, low, high, ceiling = null }: RangeLineProps) {
  const at = place(from, to)
  return (
    <div class="range-line">
      <i class="range-tick" style={{ left: at(1) }} />
      {ceiling !== null && <i class="range-tick" style={{ left: at(ceiling) }} />}
      {low !== null && high !== null && (
        <i class="range-span" style={{ left: at(low), right: `calc(100% - ${at(high)})` }} />
      )}
      {value !== null && <i class="range-point" style={{ left: at(value) }} />}
    </div>
  )
}

/** The place of a value between two ends, in percent. */
export function place(from: number, to: number): (value: number) => string {
  return value => `${Math.max(0, Math.min(100, (100 * (value - from)) / (to - from)))}%`
}
