/** What an advice gains, in the words of a cell. The service decides whether a gain is promised, and which is the run's. */
import type { Advice, BestAdvice } from './api/schema'
import { formatFactor, formatFactors } from './format'

type Gains = Pick<BestAdvice, 'predicted_speedup' | 'low' | 'high' | 'is_promised'> &
  Partial<Pick<BestAdvice, 'run_speedup' | 'run_low' | 'run_high'>>

/** The first that promises a gain; where none does, the first to try. */
export function bestOf(advice: readonly Advice[]): Advice | null {
  return advice.find(one => one.is_promised) ?? advice[0] ?? null
}

/** Of the loop of its loader. `null`: it promises none. */
export function gainOf(one: Gains): string | null {
  return one.is_promised ? written(one.predicted_speedup, one.low, one.high) : null
}

export function runGainOf(one: Gains): string | null {
  if (!one.is_promised) return null
  return isOfOneLoop(one) ? written(one.run_speedup, one.run_low, one.run_high) : gainOf(one)
}

/** The run has other loops, so that it gains less than this one. */
export function isOfOneLoop({ run_speedup }: Gains): boolean {
  return (run_speedup ?? null) !== null
}

/** What the run gains at least, as the service sorts it; without an interval, as predicted. `null`: nothing is promised. */
export function leastGainOf(one: Gains): number | null {
  if (!one.is_promised) return null
  const { predicted_speedup: gain, low } = one
  return isOfOneLoop(one) ? (one.run_low ?? one.run_speedup ?? null) : (low ?? gain)
}

type Figure = number | null | undefined

/** As the interval, else as predicted. */
function written(gain: Figure, low: Figure, high: Figure): string {
  return low == null || high == null ? formatFactor(gain ?? null) : formatFactors(low, high)
}
