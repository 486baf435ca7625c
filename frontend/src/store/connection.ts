/** Whether the service answers, who it is, and the one live stream, as signals for the whole page. */
import { signal } from '@preact/signals'
import { get, NoAnswer, ServiceError, signOut } from '../api/client'
import { joinCrowd } from '../api/crowd'
import { type Link, openLive } from '../api/live'
import type { RunEvent, ServiceInfo } from '../api/names'

export const link = signal<Link>('connecting')
/** `Date.now()` of the next try while the service is gone. */
export const retryAt = signal<number | null>(null)
/** `Date.now()` at which the service last told us something. */
export const lastHeardAt = signal<number | null>(null)
export const service = signal<ServiceInfo | null>(null)
export const signInNeeded = signal(false)

const listeners = new Set<(event: RunEvent) => void>()
const returns = new Set<() => void>()

const live = openLive({
  openSource: url => new EventSource(url),
  probe: readService,
  isHidden: () => document.visibilityState === 'hidden',
  onVisibility: changed => document.addEventListener('visibilitychange', changed),
  onEvent: event => {
    heard()
    for (const listener of listeners) listener(event)
  },
  onLink: (state, at) => {
    link.value = state
    retryAt.value = at
    if (state === 'live') heard()
  },
  onBack: () => {
    crowd.ask()
    for (const refetch of returns) refetch()
  },
  onWant: isWanted => crowd.want(isWanted),
})

const crowd = joinCrowd(new BroadcastChannel('underfed'), `${Math.random()}`, Date.now, live.crowd)
addEventListener('pagehide', () => crowd.want(false))

function heard(): void {
  lastHeardAt.value = Date.now()
}

/** Whether the service would serve us. Raises: NoAnswer, ServiceError. */
export async function readService(): Promise<boolean> {
  const info = await get('/api/v1/service', {})
  service.value = info
  signInNeeded.value = info.token_required && !info.signed_in
  return !signInNeeded.value
}

/** Forget who sat here: the page asks for a token again. */
export async function leave(): Promise<void> {
  await asked(signOut().then(readService))
}

/** Hear of `topics` until the returned function is called; `onBack` runs when events may have been missed. */
export function follow(
  topics: readonly string[],
  onEvent: (event: RunEvent) => void,
  onBack: () => void,
): () => void {
  listeners.add(onEvent)
  returns.add(onBack)
  live.watch(topics)
  return () => {
    listeners.delete(onEvent)
    returns.delete(onBack)
  }
}

/**
 * Runs one request of the page. A missing answer and a missing token are handled here, once, for all of them;
 * what the caller sees as an error is a failure that it should show in its own place.
 */
export async function asked<T>(request: Promise<T>): Promise<T | null> {
  try {
    const answer = await request
    heard()
    return answer
  } catch (error) {
    if (error instanceof DOMException && error.name === 'AbortError') return null
    if (error instanceof NoAnswer) live.suspect()
    else if (error instanceof ServiceError && error.status === 401) signInNeeded.value = true
    else throw error
    return null
  }
}

export const retryNow = live.retryNow
