/** Labels of causes, statuses and verdicts in menus and filters. Rows carry their own. */
import { service } from './connection'

type Kind = 'cause' | 'change' | 'status' | 'bound' | 'level' | 'condition'

/** By name, in the service's order; empty until the service answered. */
export function labels(kind: Kind): Readonly<Record<string, string>> {
  return service.value?.labels?.[kind] ?? {}
}

/** The name itself where the service knows no label of it. */
export function labelOf(kind: Kind, name: string): string {
  return labels(kind)[name] ?? name
}
