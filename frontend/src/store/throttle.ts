/** What is asked for often, done more seldom. */

/**
 * Runs at once, then again once `ms` have passed since it ended; calls in between end in one more run. While what `run` promised is under way it is not run again: an answer slower than `ms` still
 * arrives.
 */
export function throttled(run: () => unknown, ms: number) {
  let timer: ReturnType<typeof setTimeout> | undefined
  /** The run that keeps others waiting; a cancelled one keeps nobody. */
  let current: object | null = null
  let again = false

  function call(): void {
    again = current !== null
    if (again) return
    const mine = {}
    current = mine
    const ended = run()
    if (ended instanceof Promise) void ended.finally(() => rest(mine))
    else rest(mine)
  }
  function rest(mine: object): void {
    if (current !== mine) return
    timer = setTimeout(() => {
      current = null
      if (again) call()
    }, ms)
  }
  return Object.assign(call, {
    cancel(): void {
      clearTimeout(timer)
      current = null
      again = false
    },
  })
}

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
