/** Runs at once, then again once `ms` have passed since it ended; calls in between end in one more run. */
export interface Throttled {
  (): void
  cancel(): void
}

/** While what `run` promised is under way it is not run again: an answer slower than `ms` still arrives. */
export function throttled(run: () => unknown, ms: number): Throttled {
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
