/** An answer of the service that is read again while runs report, at most every so often; what was read before stays. */
import { type Signal, signal } from '@preact/signals'
import { ServiceError } from '../api/client'
import { follow } from './connection'
import { kept } from './kept'
import { throttled } from './throttle'

export interface Followed<T> {
  value: Signal<T | null>
  /** Why the last reading failed. */
  trouble: Signal<ServiceError | null>
  close(): void
}

/** `ask` is given what was read last; `null`: nobody answered, which is told elsewhere. */
export function openFollowed<T>(
  ask: (before: T | null, stop: AbortSignal) => Promise<T | null>,
  restMs: number,
): Followed<T> {
  const value = signal<T | null>(null)
  const trouble = signal<ServiceError | null>(null)
  let control = new AbortController()

  async function read(): Promise<void> {
    control.abort()
    control = new AbortController()
    try {
      const found = await ask(value.peek(), control.signal)
      if (found === null) return
      value.value = kept(value.peek(), found)
      trouble.value = null
    } catch (error) {
      if (!(error instanceof ServiceError)) throw error
      trouble.value = error
    }
  }

  const readSoon = throttled(() => void read(), restMs)
  const unfollow = follow(['runs'], readSoon, readSoon)
  readSoon()
  return {
    value,
    trouble,
    close() {
      unfollow()
      readSoon.cancel()
      control.abort()
    },
  }
}
