/** What the caller may do, by project: what the service would refuse is not offered. */
import type { ServiceInfo } from '../api/schema'
import { service } from './connection'

export type Scope = ServiceInfo['scopes'][number]
export type Power = 'edit' | 'admin'

const GIVEN_BY: Readonly<Record<Power, readonly Scope[]>> = { edit: ['edit', 'admin'], admin: ['admin'] }

const includes = (held: readonly Scope[], power: Power) => held.some(each => GIVEN_BY[power].includes(each))

/** `null`: of what belongs to no project, and takes the scope in all. */
export function may(power: Power, project: string | null): boolean {
  const info = service.value
  if (info === null) return false
  return (
    includes(info.scopes_in_all, power) ||
    (project !== null && includes(info.scopes_in[project] ?? [], power))
  )
}

/** In one project at least. */
export function mayAnywhere(power: Power): boolean {
  return service.value !== null && includes(service.value.scopes, power)
}

/** The most that the caller may do anywhere. */
export function highest({ scopes }: ServiceInfo): Scope | null {
  return (['admin', 'edit', 'view'] as const).find(scope => scopes.includes(scope)) ?? null
}
