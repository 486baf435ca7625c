/** Runs that were ticked in the table, to be compared, tagged, put away or deleted together. */
import { computed, signal } from '@preact/signals'
import { order } from './runs'

const ticked = signal<ReadonlySet<string>>(new Set())
/** The last one that was ticked: a range goes from it. */
let anchor: string | null = null

/** Those of them that are in the list, in its order: what is not seen is not acted upon. */
export const selected = computed(() =>
  ticked.value.size === 0 ? [] : order.value.filter(id => ticked.value.has(id)),
)

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

/** `isRange`: with all between it and the one that was ticked before. */
export function tick(id: string, on: boolean, isRange: boolean): void {
  const ends = isRange ? [anchor ?? id, id].map(end => order.value.indexOf(end)) : []
  const [from = -1, to = -1] = ends.toSorted((a, b) => a - b)
  select(from === -1 ? [id] : order.value.slice(from, to + 1), on)
  anchor = id
}

export function clearSelection(): void {
  ticked.value = new Set()
  anchor = null
}
