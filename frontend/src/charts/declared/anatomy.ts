/** The parts of a mean step, in the order of its bar: bar, words, table and file have what is declared here. */
import type { Anatomy } from '../../api/schema'

export interface AnatomyPart {
  name: keyof Anatomy
  label: string
  /** Where there is little room: the bar's own words. */
  short?: string
  /** A class of the bar. */
  look: 'wait' | 'others' | 'copy' | 'compute'
  /** Only a run with several loaders has it. */
  isRare?: boolean
}

export const ANATOMY_PARTS: readonly AnatomyPart[] = [
  { name: 'data_wait_us', label: 'data wait', look: 'wait' },
  {
    name: 'others_wait_us',
    label: 'waiting for other loaders',
    short: 'other loaders',
    look: 'others',
    isRare: true,
  },
  { name: 'h2d_exposed_us', label: 'copy', look: 'copy' },
  { name: 'compute_us', label: 'compute', look: 'compute' },
]

/** Of a step's parts those that took any time. */
export function partsOf(anatomy: Anatomy): readonly (AnatomyPart & { us: number })[] {
  return ANATOMY_PARTS.map(part => ({ ...part, us: anatomy[part.name] ?? 0 })).filter(({ us }) => us > 0)
}

/** Its times divided by so many: of a sample instead of a step. */
export function dividedBy(count: number, anatomy: Anatomy): Anatomy {
  const divided = Object.entries(anatomy).map(([name, us]) => [name, us === null ? null : us / count])
  return Object.fromEntries(divided) as Anatomy
}
