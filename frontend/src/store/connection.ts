/** Whether the service answers, who it is, and the tab's one live stream: they last as long as the tab. */
import { computed, signal } from '@preact/signals'
import { get, Intercepted, NoAnswer, ServiceError, signIn, signOut } from '../api/client'
import { type Channel, joinCrowd } from '../api/crowd'
import { type Link, openLive } from '../api/live'
import type { ServiceInfo } from '../api/schema'
import { signInPage } from '../text/frame'
import { show } from './notice'

export const link = signal<Link>('connecting')
/** `Date.now()` of the next try while the service is gone. */
export const retryAt = signal<number | null>(null)
/** `Date.now()` of the last answer or event of the service. */
export const lastReceivedAt = signal<number | null>(null)
/** Its last answer or event is no older than the connection. */
export const isConnected = computed(() => link.value === 'live' || link.value === 'idle')
export const service = signal<ServiceInfo | null>(null)
export const signInNeeded = signal(false)
/** Something else answers in the service's place. */
export const isIntercepted = signal(false)

const live = openLive({
  openSource: url => new EventSource(url),
  probe,
  isHidden: () => document.visibilityState === 'hidden',
  onVisibility: changed => document.addEventListener('visibilitychange', changed),
  onReceived: noteReceived,
  onLink: (state, at) => {
    link.value = state
    retryAt.value = at
    if (state === 'live') noteReceived()
  },
  onWant: isWanted => crowd.want(isWanted),
  onPoll: () => crowd.ask(),
})

const crowd = joinCrowd(channel(), `${Math.random()}`, Date.now, live.setCrowded)
addEventListener('pagehide', () => crowd.want(false))

export const { subscribe, suspect, retryNow } = live

/** A browser that keeps nothing for the site may refuse this too: then each of its tabs counts as the only one. */
function channel(): Channel {
  try {
    return new BroadcastChannel('underfed')
  } catch {
    return { postMessage() {}, onmessage: null }
  }
}

function noteReceived(): void {
  lastReceivedAt.value = Date.now()
  isIntercepted.value = false
  // No view has asked for a stream yet, and perhaps none will.
  if (link.value === 'connecting' && !live.isWanted()) link.value = 'idle'
}

/** Raises: NoAnswer, ServiceError. */
async function probe(): Promise<boolean> {
  try {
    const isServed = await readService()
    isIntercepted.value = false
    return isServed
  } catch (error) {
    isIntercepted.value = error instanceof Intercepted
    throw error
  }
}

/** Whether the service answers without a sign-in. Raises: NoAnswer, ServiceError. */
export async function readService(): Promise<boolean> {
  const info = await get('/api/v1/service', {})
  service.value = info
  signInNeeded.value = info.token_required && !info.signed_in
  return !signInNeeded.value
}

/** Where reading needs no token: asks for the owner's, with which one may change. */
export function askForOwner(isAsked: boolean): void {
  signInNeeded.value = isAsked
}

const OWNER_LINK = '#owner='

/** Signs in with the link that the service printed. Its secret leaves the address before anything else sees it. */
export async function openAsOwner(): Promise<void> {
  if (!location.hash.startsWith(OWNER_LINK)) return
  const secret = location.hash.slice(OWNER_LINK.length)
  history.replaceState(history.state, '', location.pathname + location.search)
  try {
    await signIn(secret)
  } catch (error) {
    if (!(error instanceof ServiceError || error instanceof NoAnswer)) throw error
    show(signInPage.linkRefused(error.message))
  }
}

/** Ends this browser's session: the page asks for a token again. */
export async function leave(): Promise<void> {
  await asked(signOut().then(readService))
}

/** A refusal may come late: of a request from before a sign-in that has succeeded since. */
async function wantsSignIn(): Promise<boolean> {
  signInNeeded.value = await readService().then(
    isServed => !isServed,
    () => true,
  )
  return signInNeeded.value
}

/**
 * Runs one request of the page. A missing answer and a missing token are handled here, once, for all of them;
 * what the caller sees as an error is a failure that it should show in its own place. `null`: there is no answer.
 */
export async function asked<T>(request: Promise<T>): Promise<T | null> {
  try {
    const answer = await request
    noteReceived()
    return answer
  } catch (error) {
    if (error instanceof DOMException && error.name === 'AbortError') return null
    if (error instanceof NoAnswer) {
      isIntercepted.value = error instanceof Intercepted
      live.suspect()
    } else if (!(error instanceof ServiceError && error.status === 401 && (await wantsSignIn()))) throw error
    return null
  }
}
