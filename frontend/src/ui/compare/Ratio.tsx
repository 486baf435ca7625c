/** How many times as fast a run is, with its interval, on a line that all compared runs share. */
import type { ComparedRun } from '../../api/schema'
import { runStyle } from '../../charts/declared/compare'
import { formatFactor, plainFactor } from '../../format'
import { compare as say } from '../../text/compare'
import { place, RangeLine } from '../parts/RangeLine'
import './Ratio.css'

interface RatioProps {
  run: ComparedRun
  index: number
  runs: readonly ComparedRun[]
}

export function Ratio({ run: { speed, label, why_not }, index, runs }: RatioProps) {
  const ends = runs.flatMap(({ speed: each }) => (each ? [each.low, each.high] : []))
  const [from, to] = [Math.min(0.95, ...ends), Math.max(1.05, ...ends)]
  if (why_not !== null) return null
  if (index === 0) return <Baseline at={place(from, to)(1)} />
  if (!speed) return null
  const factor = formatFactor(speed.factor)
  const [low, high] = [plainFactor(speed.low), plainFactor(speed.high)]
  const colour = `var(--${runStyle(index).colour})`
  return (
    <>
      <div
        class="ratio"
        style={{ '--range': colour }}
        role="img"
        aria-label={`${label}: ${say.range(factor, low, high)}`}
      >
        <RangeLine from={from} to={to} value={speed.factor} low={speed.low} high={speed.high} />
      </div>
      <span class={`run-line-speed ${speed.is_told ? '' : 'faint'}`}>
        <b>{factor}</b> <small>{`${low} to ${high}`}</small>
      </span>
    </>
  )
}

/** The place of a run that is as fast as the baseline. */
function Baseline({ at }: { at: string }) {
  return (
    <>
      <div class="ratio" aria-hidden="true">
        <span class="unity faint" style={{ left: at }}>
          {say.unity}
        </span>
      </div>
      <span class="run-line-speed faint">{say.baseline}</span>
    </>
  )
}
