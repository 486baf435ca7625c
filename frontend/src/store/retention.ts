/** How long, how large and how exactly a project's single steps are stored: the service's figures, and those of a form. */
import { change, get } from '../api/client'
import type { Retention } from '../api/names'

const DAY_US = 24 * 3_600 * 1e6
const GIGABYTE = 1e9

/** Of a limit: what the service does for all, none, or the project's own. */
export type Limit = { kind: 'service' } | { kind: 'none' } | { kind: 'own'; amount: number }

export interface Wish {
  days: Limit
  gigabytes: Limit
  precisionBits: number | null
}

const address = (project: string) => `/api/v1/projects/${encodeURIComponent(project)}/retention`

/** Raises: ServiceError, NoAnswer. */
export function readRetention(project: string): Promise<Retention> {
  return get('/api/v1/projects/{project}/retention', { path: { project } })
}

/** Raises: ServiceError, NoAnswer. */
export function saveRetention(project: string, wish: Wish): Promise<void> {
  return change('PUT', address(project), {
    retain_us: amountOf(wish.days, DAY_US),
    max_bytes: amountOf(wish.gigabytes, GIGABYTE),
    precision_bits: wish.precisionBits,
  })
}

export function wishOf(current: Retention): Wish {
  return {
    days: limitOf(current.retain_us, DAY_US),
    gigabytes: limitOf(current.max_bytes, GIGABYTE),
    precisionBits: current.precision_bits,
  }
}

/** `null`: the service has no limit. */
export function serviceDays({ default_retain_us: us }: Retention): number | null {
  return us === null ? null : us / DAY_US
}

export function serviceGigabytes({ default_max_bytes: bytes }: Retention): number | null {
  return bytes === null ? null : bytes / GIGABYTE
}

export const gigabytes = (bytes: number) => bytes / GIGABYTE

function limitOf(amount: number | null, unit: number): Limit {
  if (amount === null) return { kind: 'service' }
  return amount === 0 ? { kind: 'none' } : { kind: 'own', amount: amount / unit }
}

function amountOf(limit: Limit, unit: number): number | null {
  if (limit.kind === 'service') return null
  return limit.kind === 'none' ? 0 : Math.round(limit.amount * unit)
}
