/** Tabs of one browser that want a stream: a browser opens six connections to a host, and requests need some. */

/** Streams at once in one browser. Tabs opened later poll instead. */
const MOST_STREAMS = 4

/** A tab that has not answered by then is gone. */
const ANSWER_MS = 1_000

interface Said {
  tab: string
  /** When the tab began to want a stream; `null`: it no longer does. */
  since: number | null
  /** Whether it asks the other tabs to report theirs. */
  asks: boolean
}

/** The part of a BroadcastChannel that is used. */
export type Channel = Pick<BroadcastChannel, 'postMessage' | 'onmessage'>

/** `onChange`: whether too many tabs wanted a stream before this one. */
export function joinCrowd(
  channel: Channel,
  tab: string,
  now: () => number,
  onChange: (isCrowded: boolean) => void,
) {
  const others = new Map<string, number>()
  const answered = new Set<string>()
  let since: number | null = null
  let wasCrowded = false

  function say(asks: boolean): void {
    channel.postMessage({ tab, since, asks } satisfies Said)
  }

  function judge(): void {
    const mine = since
    const before = [...others].filter(
      ([other, at]) => mine !== null && (at < mine || (at === mine && other < tab)),
    )
    const isCrowded = mine !== null && before.length >= MOST_STREAMS
    if (isCrowded !== wasCrowded) onChange(isCrowded)
    wasCrowded = isCrowded
  }

  channel.onmessage = (message: MessageEvent<Said>) => {
    const { data } = message
    answered.add(data.tab)
    if (data.since === null) others.delete(data.tab)
    else others.set(data.tab, data.since)
    if (data.asks && since !== null) say(false)
    judge()
  }

  return {
    /** This tab wants a stream, or no longer does. */
    want(isWanted: boolean): void {
      if (isWanted === (since !== null)) return
      since = isWanted ? now() : null
      say(isWanted)
      judge()
    },
    /** Counts the tabs again: a crashed one did not report that it left. */
    ask(): void {
      answered.clear()
      say(true)
      setTimeout(() => {
        for (const other of others.keys()) if (!answered.has(other)) others.delete(other)
        judge()
      }, ANSWER_MS)
    },
  }
}
