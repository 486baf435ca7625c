/** One position in the run, shared by all charts of a page: a move in one is shown in the others. */

export interface Crosshair {
  /** Seconds of the run clock; `null`: nobody points. */
  readonly atS: number | null
  move(atS: number | null): void
  subscribe(changed: (atS: number | null) => void): () => void
}

export function createCrosshair(): Crosshair {
  const listeners = new Set<(atS: number | null) => void>()
  let atS: number | null = null
  return {
    get atS() {
      return atS
    },
    move(next) {
      if (next === atS) return
      atS = next
      for (const listener of listeners) listener(next)
    },
    subscribe(changed) {
      listeners.add(changed)
      return () => listeners.delete(changed)
    },
  }
}
