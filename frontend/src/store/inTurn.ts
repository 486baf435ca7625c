/**
 * `run`, one at a time. Who calls while one is under way gets the next, which begins after it: what is under way may have
 * been answered before the call. All who wait share that next one.
 */
export function inTurn(run: () => Promise<void>): () => Promise<void> {
  let current: Promise<void> | null = null
  let next: Promise<void> | null = null

  function begin(): Promise<void> {
    next = null
    current = run().finally(() => {
      current = null
    })
    return current
  }
  return () => {
    if (current === null && next === null) return begin()
    next ??= (current as Promise<void>).then(begin, begin)
    return next
  }
}
