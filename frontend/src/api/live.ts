/** The one event stream of a tab, for all views that subscribe: open while the tab is visible, opened again when it breaks. */
import type { RunEvent } from './schema'

/** `connecting` covers the first opening and one silent retry; `gone` is shown to the reader; with `idle` no view wants a stream. */
export type Link = 'connecting' | 'live' | 'idle' | 'asleep' | 'gone'

/** A view that receives the events of its topics. */
export interface Listener {
  onEvent(event: RunEvent): void
  /** Events may have been missed since it subscribed: what it shows may be out of date. */
  onMissed(): void
}

export interface LiveDeps {
  openSource(url: string): EventSource
  /** Rejects when nothing answers; `false`: it answers, but wants a sign-in first. */
  probe(): Promise<boolean>
  isHidden(): boolean
  onVisibility(changed: () => void): void
  onReceived(): void
  /** `retryAt`: when the next try begins, in `Date.now()` milliseconds. */
  onLink(link: Link, retryAt: number | null): void
  /** Whether this tab wants a stream now. */
  onWant(isWanted: boolean): void
  /** This tab polls: check whether the tabs that kept it from a stream are gone. */
  onPoll(): void
}

/** Time between two polls while other tabs hold all streams. */
const POLL_MS = 5_000

/** A stream that breaks once (a restarting proxy, an idle limit) is not shown to the reader; one that stays broken is. */
const RETRY_MS = [300, 1_000, 2_000, 4_000, 8_000, 15_000]

/** The service sends something every ten seconds: a stream that is silent for longer was cut without a word. */
const SILENT_MS = 35_000

/** A page closes before the next one opens: unused topics are dropped only after this time. */
const LINGER_MS = 250

interface Subscription extends Listener {
  topics: ReadonlySet<string>
}

export function openLive(deps: LiveDeps) {
  const subscriptions = new Set<Subscription>()
  /** Views that may have missed events. */
  const missing = new Set<Subscription>()
  let source: EventSource | null = null
  let opened = ''
  let timer: ReturnType<typeof setTimeout> | undefined
  let isWaiting = false
  let isPolling = false
  let failures = 0
  let isCrowded = false
  let lingering: ReturnType<typeof setTimeout> | undefined
  let watchdog: ReturnType<typeof setTimeout> | undefined

  const topics = () => [...new Set([...subscriptions].flatMap(each => [...each.topics]))].sort()

  function missAll(): void {
    for (const each of subscriptions) missing.add(each)
  }

  function close(): void {
    if (source) missAll()
    source?.close()
    source = null
    clearTimeout(timer)
    clearTimeout(watchdog)
    isWaiting = isPolling = false
  }

  function later(run: () => void, ms: number): void {
    timer = setTimeout(run, ms)
    isWaiting = true
  }

  function open(): void {
    close()
    const wanted = topics()
    const isWanted = wanted.length > 0 && !deps.isHidden()
    deps.onWant(isWanted)
    opened = isWanted ? wanted.join() : ''
    if (isWanted && isCrowded) poll()
    else if (isWanted) listen(wanted)
    else if (!deps.isHidden()) deps.onLink('idle', null)
  }

  function listen(wanted: readonly string[]): void {
    const stream = deps.openSource(
      `/api/v1/events?${new URLSearchParams(wanted.map(topic => ['topic', topic]))}`,
    )
    source = stream
    stream.onopen = () => source === stream && arrived()
    stream.onerror = () => source === stream && broken()
    stream.onmessage = message => source === stream && receive(JSON.parse(message.data as string) as RunEvent)
    stream.addEventListener('beat', watch)
    watch()
  }

  /** Anew with each sign of life. */
  function watch(): void {
    clearTimeout(watchdog)
    if (source) watchdog = setTimeout(broken, SILENT_MS)
  }

  function receive(event: RunEvent): void {
    watch()
    deps.onReceived()
    for (const each of subscriptions) if (each.topics.has(event.topic)) each.onEvent(event)
  }

  function caughtUp(): void {
    deps.onLink('live', null)
    const late = [...missing]
    missing.clear()
    for (const each of late) each.onMissed()
  }

  function poll(): void {
    close()
    later(poll, POLL_MS)
    isPolling = true
    deps.onPoll()
    missAll()
    caughtUp()
  }

  function arrived(): void {
    watch()
    failures = 0
    caughtUp()
  }

  function broken(): void {
    close()
    const wait = RETRY_MS[Math.min(failures, RETRY_MS.length - 1)] ?? 0
    failures += 1
    later(retry, wait)
    deps.onLink(failures > 1 ? 'gone' : 'connecting', Date.now() + wait)
  }

  function retry(): void {
    close()
    deps.probe().then(isServed => (isServed ? open() : deps.onLink('idle', null)), broken)
  }

  /** While the service does not answer, the next try takes the topics of that moment. */
  function followTopics(): void {
    const isRetrying = isWaiting && !isPolling
    if (!isRetrying && topics().join() !== opened) open()
  }

  deps.onVisibility(() => {
    if (!deps.isHidden()) return retry()
    close()
    deps.onWant(false)
    deps.onLink('asleep', null)
  })

  return {
    /** Subscribes until the returned function is called. Any number of views may subscribe to one topic. */
    subscribe(wanted: readonly string[], listener: Listener): () => void {
      const subscription = { topics: new Set(wanted), ...listener }
      subscriptions.add(subscription)
      clearTimeout(lingering)
      followTopics()
      // A new view reads for itself; only while no stream is open may it miss something.
      if (deps.isHidden() || failures > 0) missing.add(subscription)
      else missing.delete(subscription)
      return () => {
        subscriptions.delete(subscription)
        missing.delete(subscription)
        clearTimeout(lingering)
        lingering = setTimeout(followTopics, LINGER_MS)
      }
    },
    /** A request was not answered: check the connection now instead of waiting for the stream to break. */
    suspect(): void {
      if ((!isWaiting || isPolling) && !deps.isHidden()) broken()
    },
    retryNow: retry,
    /** Whether a view subscribes. */
    isWanted: () => subscriptions.size > 0,
    /** Whether other tabs hold all the streams that a browser may open, so that this one polls. */
    setCrowded(isNowCrowded: boolean): void {
      isCrowded = isNowCrowded
      missAll()
      open()
    },
  }
}
