/** Runs that were ticked in the table, to be put away or deleted together. */
import { computed, signal } from '@preact/signals'
import { order } from './runs'

const ticked = signal<ReadonlySet<string>>(new Set())

/** Those of them that are in the list, in its order: what is not seen is not acted upon. */
export const selected = computed(() => order.value.filter(id => ticked.value.has(id)))

export function isSelected(id: string): boolean {
  return ticked.value.has(id)
}

export function select(ids: readonly string[], on: boolean): void {
  const next = new Set(ticked.value)
  for (const id of ids) {
    if (on) next.add(id)
    else next.delete(id)
  }
  ticked.value = next
}

export function clearSelection(): void {
  ticked.value = new Set()
}
