/** Runs at once, then at most once in `ms`; calls in between end in one more run. */
export interface Throttled {
  (): void
  cancel(): void
}

export function throttled(run: () => void, ms: number): Throttled {
  let timer: ReturnType<typeof setTimeout> | null = null
  let again = false

  function rest(): void {
    timer = null
    if (again) call()
  }
  function call(): void {
    again = timer !== null
    if (again) return
    timer = setTimeout(rest, ms)
    run()
  }
  return Object.assign(call, {
    cancel(): void {
      if (timer !== null) clearTimeout(timer)
      timer = null
      again = false
    },
  })
}
