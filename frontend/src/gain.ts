/** What an advice gains, in the words of a cell. The service decides whether a gain is promised, and which is the run's. */
import type { Advice, BesideAction, BestAdvice, Diagnosis } from './api/schema'
import { formatFactor, formatFactors } from './format'

type Gains = Pick<BestAdvice, 'predicted_speedup' | 'low' | 'high' | 'is_promised'> &
  Partial<Pick<Advice, 'run_speedup' | 'run_low' | 'run_high' | 'ceiling' | 'run_ceiling'>>

/** The first fix, wherever one is named: whether it promises a gain or is to be tried. */
export function firstOf(advice: readonly Advice[]): Advice | null {
  return advice[0] ?? null
}

/** What to do first, where the service says that it lies outside the run. */
export function besideFirst({
  beside_loader,
  is_beside_first,
}: Pick<Diagnosis, 'beside_loader' | 'is_beside_first'>): string | null {
  return is_beside_first ? (beside_loader ?? null) : null
}

/** What is to be done there, each with its own gain. A diagnosis of an earlier version has sentences and one gain. */
export function besideOf({ beside = [], beside_loader, beside_speedup = null }: Diagnosis): BesideAction[] {
  if (beside.length > 0 || !beside_loader) return beside
  return [{ title: beside_loader, detail: '', speedup: beside_speedup, hours_saved: null }]
}

/** As predicted, at least, at most. */
export type Factors = Readonly<Record<'gain' | 'low' | 'high', number | null>>
const NONE: Factors = { gain: null, low: null, high: null }

/** Of the loop of its loader. Nothing where nothing is promised. */
export function loopFactors({ is_promised, predicted_speedup, low, high }: Gains): Factors {
  return is_promised ? { gain: predicted_speedup, low, high } : NONE
}

export function runFactors(one: Gains): Factors {
  const { is_promised, run_speedup: gain = null, run_low: low = null, run_high: high = null } = one
  return is_promised && gain !== null ? { gain, low, high } : loopFactors(one)
}

/** Of the loop of its loader. `null`: it promises none. */
export function gainOf(one: Gains): string | null {
  return written(loopFactors(one))
}

export function runGainOf(one: Gains): string | null {
  return written(runFactors(one))
}

/** What instant data would gain the run. */
export function runCeiling({ ceiling = null, run_ceiling = null }: Gains): number | null {
  return run_ceiling ?? ceiling
}

/** The run has other loops, or pauses, so that it gains less than this one. */
export function isOfOneLoop({ run_speedup }: Gains): boolean {
  return (run_speedup ?? null) !== null
}

/** What the run gains at least, as the service sorts it; without an interval, as predicted. `null`: nothing is promised. */
export function leastGainOf(one: Gains): number | null {
  const { gain, low } = runFactors(one)
  return low ?? gain
}

/** As the interval, else as predicted. */
function written({ gain, low, high }: Factors): string | null {
  if (gain === null) return null
  return low === null || high === null ? formatFactor(gain) : formatFactors(low, high)
}

/** Factor between two speeds, below which both are the same to a reader. */
const MORE_THAN_ALIKE = 1.005

/** Steps per second. */
export interface WithoutWaits {
  /** The rest of the step is left as it is. */
  least: number
  /** That may be shorter, too, where loading takes cores and memory from it. `null`: by next to nothing. */
  most: number | null
}

/** What the loop would get if no step waited. `null`: that is not known. */
export function withoutWaits(diagnosis: Diagnosis): WithoutWaits | null {
  const { anatomy, bound, instant_data_steps_per_s: instant } = diagnosis
  if (!anatomy || instant === null) return null
  const copiesUs = bound === 'transfer' ? (anatomy.h2d_exposed_us ?? 0) : 0
  const restUs = anatomy.step_us - anatomy.data_wait_us - (anatomy.others_wait_us ?? 0) - copiesUs
  const least = restUs > 0 ? Math.min(instant, 1e6 / restUs) : instant
  const most = Math.max(least, diagnosis.instant_data_high_steps_per_s ?? instant)
  return { least, most: most < MORE_THAN_ALIKE * least ? null : most }
}

/** What no step would wait for then. */
export function waitedFor({ anatomy, bound }: Diagnosis): 'loader' | 'copies' | 'data' {
  return anatomy?.others_wait_us ? 'loader' : bound === 'transfer' ? 'copies' : 'data'
}
