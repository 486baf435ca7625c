/** A figure with its interval, as a point on a line; ticks mark what it is compared with. */
import './RangeLine.css'

interface RangeLineProps {
  from: number
  to: number
  value: number | null
  low: number | null
  high: number | null
  ticks: readonly number[]
}

export function RangeLine({ from, to, value, low, high, ticks }: RangeLineProps) {
  const at = place(from, to)
  return (
    <div class="range-line">
      {ticks.map(tick => (
        <i key={tick} class="range-tick" style={{ left: at(tick) }} />
      ))}
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
