/**
 * One answer of the service as a signal: read, read again, and why the last reading failed. Every store consists of these,
 * and what a new reading leaves as it was stays the same object, so that only what changed is drawn again.
 */
import { type ReadonlySignal, type Signal, signal } from '@preact/signals'
import { ServiceError } from '../api/client'
import { asked, subscribe } from './connection'
import { reuse } from './reuse'
import { throttled } from './throttle'

/** What a page opens with `useStore`: signals to read, functions to call, and an end. */
export interface Store {
  close(): void
}

export interface Resource<T> extends Store {
  /** The last answer; a reading that fails leaves it. `null`: none yet. */
  readonly value: T | null
  peek(): T | null
  /** Why the last reading failed. A service that does not answer and a missing sign-in are shown by the frame of the page. */
  readonly trouble: ReadonlySignal<ServiceError | null>
  /** Reads at once, replacing a request in progress. */
  read(): Promise<void>
  /** Reads now, or once the last reading was answered and is `restMs` ago. */
  refresh(): void
  /** The answer if it is known without a request. */
  put(value: T): void
}

export interface Reading {
  /** From one answer to the next reading that `refresh` asks for. */
  restMs?: number
  /** Live topics: it is read at once, and again whenever they report. */
  topics?: readonly string[]
}

/** `ask` gets the last answer; where it returns `null`, the last answer stays. */
export function openResource<T>(
  ask: (stop: AbortSignal, before: T | null) => Promise<T | null>,
  { restMs = 0, topics = [] }: Reading = {},
): Resource<T> {
  const value = signal<T | null>(null)
  const trouble = signal<ServiceError | null>(null)
  const { read, stop } = onlyNewest(trouble)
  const put = (next: T) => {
    value.value = reuse(value.peek(), next)
  }
  const readNow = () =>
    read(
      signal => ask(signal, value.peek()),
      answer => answer !== null && put(answer),
    )
  const refresh = throttled(readNow, restMs)
  const unsubscribe =
    topics.length > 0 ? subscribe(topics, { onEvent: refresh, onMissed: refresh }) : () => undefined
  if (topics.length > 0) refresh()
  return {
    get value() {
      return value.value
    },
    peek: () => value.peek(),
    trouble,
    read: readNow,
    refresh,
    put,
    close() {
      unsubscribe()
      refresh.cancel()
      stop()
    },
  }
}

/** Requests of which each cancels the one before; a failure stays in `trouble` until one succeeds. */
export function onlyNewest(trouble: Signal<ServiceError | null>) {
  let control = new AbortController()
  return {
    async read<T>(ask: (stop: AbortSignal) => Promise<T>, take: (answer: T) => void): Promise<void> {
      control.abort()
      control = new AbortController()
      const stop = control.signal
      try {
        const answer = await asked(ask(stop))
        if (answer === null || stop.aborted) return
        trouble.value = null
        take(answer)
      } catch (error) {
        if (!(error instanceof ServiceError)) throw error
        if (!stop.aborted) trouble.value = error
      }
    },
    stop: () => control.abort(),
  }
}
