/** A predicted gain on a line from "as now" to the ceiling: the point, its interval, and the maximum. */
import type { Advice } from '../../api/schema'
import { advice as say } from '../../text/run'
import { place, RangeLine } from '../parts/RangeLine'
import './GainRange.css'

export function GainRange({ advice }: { advice: Advice }) {
  const { predicted_speedup: gain, low, high, ceiling } = advice
  if (gain === null || low === null || high === null) return null
  const end = Math.max(ceiling ?? 0, high, gain, 1.05)
  const figures = [low, high].map(factor => factor.toFixed(2)) as [string, string]
  const label = say.rangeLabel(gain.toFixed(2), ...figures, ceiling === null ? '–' : ceiling.toFixed(2))
  return (
    <div class="range faint" role="img" aria-label={label}>
      <RangeLine
        from={1}
        to={end}
        value={gain}
        low={low}
        high={high}
        ticks={ceiling === null ? [1] : [1, ceiling]}
      />
      <span>{ceiling === null ? '' : say.ceiling(ceiling.toFixed(2))}</span>
      <div class="range-labels">
        <span>{say.asNow}</span>
        <span style={{ left: `clamp(84px, ${place(1, end)((low + high) / 2)}, calc(100% - 36px))` }}>
          {say.interval(...figures)}
        </span>
      </div>
    </div>
  )
}
