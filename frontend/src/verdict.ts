/** A verdict as a word and a tone. The service decides it. */
import type { Diagnosis, RunSummary } from './api/schema'

export type Judged = Pick<RunSummary, 'bound' | 'level' | 'status' | 'is_mostly_paused'> & {
  /** Why nothing was recorded, of a run in which no loader was seen. */
  no_loader?: string | null
}

export function isOpen({ bound, level }: Judged): boolean {
  return bound === 'unknown' || level === 'unknown'
}

/** The training sets the pace, and its input keeps up. */
export function isWell({ bound, level }: Judged): boolean {
  return bound === 'compute' && level === 'healthy'
}

/** Between "nothing to gain" and "data-bound": worth a look. */
export function hasSomeWait({ bound, level }: Judged): boolean {
  return (bound === 'data' && level !== 'bound') || (bound === 'compute' && level !== 'healthy')
}

export function verdictWord(judged: Judged): string {
  if (judged.no_loader) return 'no loader seen'
  if (isOpen(judged)) return judged.status === 'running' ? 'measuring' : 'no verdict'
  const word = hasSomeWait(judged) ? 'some wait' : isWell(judged) ? 'healthy' : `${judged.bound}-bound`
  return judged.is_mostly_paused ? `paused, ${word}` : word
}

/** A host that has been silent for longer is not merely out of reach: whether its run still trains is not known. */
const SILENT_S = 3_600

/** Of a run without a recorded end; `silentS`: since its last data. */
export function isEndUnknown({ status }: Judged, silentS: number): boolean {
  return status === 'lost' && silentS > SILENT_S
}

/** The loader that steps, speed and the mean step are of. `null`: the run has no other. */
export function oneOfSeveral({ loader, loaders }: Pick<Diagnosis, 'loader' | 'loaders'>): string | null {
  return loaders.length > 1 ? loader : null
}

/** A class of the style sheet; only time lost waiting is emphasised. */
export function verdictTone(judged: Judged): 'open' | 'some' | 'loud' | 'fine' {
  if (isOpen(judged)) return 'open'
  if (hasSomeWait(judged)) return 'some'
  if (judged.bound === 'data' || judged.bound === 'transfer') return 'loud'
  return judged.bound === 'compute' ? 'fine' : 'some'
}

/** What advice gained. What a run gained by tuning itself is shown with its trials. */
export function ledgerOf({ ledger, tuning }: Pick<Diagnosis, 'ledger' | 'tuning'>): Diagnosis['ledger'] {
  return ledger.filter(entry => !tuning || entry.run_id !== entry.advice_of)
}
