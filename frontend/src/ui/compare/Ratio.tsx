/** How many times as fast a run is, with its interval, on a line that all compared runs share. */
import type { ComparedRun } from '../../api/names'
import { runStyle } from '../../charts/declared/compare'
import { formatFactor, plainFactor } from '../../format'
import { compare as say } from '../../text'

interface RatioProps {
  run: ComparedRun
  place: number
  runs: readonly ComparedRun[]
}

export function Ratio({ run: { speed, label, why_not }, place, runs }: RatioProps) {
  const ends = runs.flatMap(({ speed: each }) => (each ? [each.low, each.high] : []))
  const [from, to] = [Math.min(0.95, ...ends), Math.max(1.05, ...ends)]
  const at = (factor: number) => `${(100 * (factor - from)) / (to - from)}%`
  if (why_not !== null) return null
  if (place === 0) return <Baseline at={at(1)} />
  if (!speed) return null
  const factor = formatFactor(speed.factor)
  const [low, high] = [plainFactor(speed.low), plainFactor(speed.high)]
  const colour = `var(--${runStyle(place).colour})`
  return (
    <>
      <div class="ratio" role="img" aria-label={`${label}: ${say.range(factor, low, high)}`}>
        <div class="range-line">
          <i class="range-end" style={{ left: at(1) }} />
          <i
            class="range-span"
            style={{ left: at(speed.low), right: `calc(100% - ${at(speed.high)})`, background: colour }}
          />
          <i class="range-point" style={{ left: at(speed.factor), background: colour }} />
        </div>
      </div>
      <span class={`run-line-speed ${speed.is_told ? '' : 'faint'}`}>
        <b>{factor}</b> <small>{`${low} to ${high}`}</small>
      </span>
    </>
  )
}

/** Where all others would stand if they were as fast. */
function Baseline({ at }: { at: string }) {
  return (
    <>
      <div class="ratio of-baseline" aria-hidden="true">
        <div class="range-line">
          <span class="unity" style={{ left: at }}>
            {say.unity}
          </span>
        </div>
      </div>
      <span class="run-line-speed faint">{say.baseline}</span>
    </>
  )
}
