/** The one event stream of a tab: opened when shown, closed when hidden, tried again when it breaks. */
import type { RunEvent } from './names'

/** `connecting` covers the first opening and one silent retry; `gone` is told to the reader. */
export type Link = 'connecting' | 'live' | 'asleep' | 'gone'

export interface LiveDeps {
  openSource(url: string): EventSource
  /** Rejects when nothing answers; `false`: it answers, but wants a sign-in first. */
  probe(): Promise<boolean>
  isHidden(): boolean
  onVisibility(changed: () => void): void
  onEvent(event: RunEvent): void
  /** `retryAt`: when the next try is made, in `Date.now()` milliseconds. */
  onLink(link: Link, retryAt: number | null): void
  /** The stream is open again after a pause: whatever happened meanwhile was missed. */
  onBack(): void
  /** Whether this tab wants a stream now. */
  onWant(isWanted: boolean): void
}

/** Between two looks while other tabs hold all the streams that this browser may open. */
const LOOK_MS = 5_000

/** A stream that ends once (a restarting proxy, an idle limit) is no news; one that stays away is. */
const RETRY_MS = [300, 1_000, 2_000, 4_000, 8_000, 15_000]

export interface Live {
  /** What the open page wants to hear of; one stream carries all topics. */
  watch(topics: readonly string[]): void
  /** A request found nobody: do not wait for the stream to notice. */
  suspect(): void
  retryNow(): void
  /** Other tabs hold all the streams there may be: look from time to time instead. */
  crowd(isCrowded: boolean): void
}

export function openLive(deps: LiveDeps): Live {
  let topics: readonly string[] = []
  let source: EventSource | null = null
  let timer: ReturnType<typeof setTimeout> | null = null
  let failures = 0
  let missedSome = false
  let isCrowded = false
  let isLooking = false

  function close(): void {
    isLooking = false
    source?.close()
    source = null
    if (timer !== null) clearTimeout(timer)
    timer = null
  }

  function open(): void {
    close()
    const isWanted = topics.length > 0 && !deps.isHidden()
    deps.onWant(isWanted)
    if (!isWanted) return
    if (isCrowded) {
      look()
      return
    }
    const opened = deps.openSource(
      `/api/v1/events?${new URLSearchParams(topics.map(topic => ['topic', topic]))}`,
    )
    source = opened
    opened.onopen = () => {
      if (source === opened) arrived()
    }
    opened.onmessage = message => deps.onEvent(JSON.parse(message.data as string) as RunEvent)
    opened.onerror = () => {
      if (source === opened) broken()
    }
  }

  function look(): void {
    close()
    isLooking = true
    timer = setTimeout(look, LOOK_MS)
    deps.onLink('live', null)
    deps.onBack()
  }

  function arrived(): void {
    const caughtUp = !missedSome
    failures = 0
    missedSome = false
    deps.onLink('live', null)
    if (!caughtUp) deps.onBack()
  }

  function broken(): void {
    close()
    missedSome = true
    const wait = RETRY_MS[Math.min(failures, RETRY_MS.length - 1)] ?? 0
    failures += 1
    timer = setTimeout(retry, wait)
    deps.onLink(failures > 1 ? 'gone' : 'connecting', Date.now() + wait)
  }

  function retry(): void {
    close()
    deps.probe().then(isServed => (isServed ? open() : deps.onLink('connecting', null)), broken)
  }

  deps.onVisibility(() => {
    if (!deps.isHidden()) return retry()
    close()
    missedSome = true
    deps.onWant(false)
    deps.onLink('asleep', null)
  })

  return {
    watch(wanted) {
      if (wanted.join() === topics.join()) return
      topics = wanted
      open()
    },
    suspect() {
      if ((timer === null || isLooking) && !deps.isHidden()) broken()
    },
    retryNow: retry,
    crowd(isNowCrowded) {
      isCrowded = isNowCrowded
      missedSome = true
      open()
    },
  }
}
