/** Runs that were ticked in the table, to be compared, tagged, archived or deleted together. */
import { computed, type ReadonlySignal, signal } from '@preact/signals'

export function openSelection(order: ReadonlySignal<readonly string[]>) {
  const ticked = signal<ReadonlySet<string>>(new Set())
  /** The last one that was ticked: a range goes from it. */
  let anchor: string | null = null

  function set(ids: readonly string[], on: boolean): void {
    const given = new Set(ids)
    const others = [...ticked.value].filter(id => !given.has(id))
    ticked.value = new Set(on ? [...others, ...ids] : others)
  }
  return {
    /** In the order of the list, and only those in it: what is not seen is not acted upon. */
    ids: computed(() => (ticked.value.size === 0 ? [] : order.value.filter(id => ticked.value.has(id)))),
    has: (id: string) => ticked.value.has(id),
    set,
    /** `isRange`: with all between it and the one that was ticked before. */
    tick(id: string, on: boolean, isRange: boolean) {
      const ends = isRange ? [anchor ?? id, id].map(end => order.value.indexOf(end)) : []
      const [from = -1, to = -1] = ends.toSorted((a, b) => a - b)
      set(from === -1 ? [id] : order.value.slice(from, to + 1), on)
      anchor = id
    },
    clear() {
      ticked.value = new Set()
      anchor = null
    },
  }
}
