import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { type LiveDeps, openLive } from '../../src/api/live'
import type { RunEvent } from '../../src/api/schema'

class FakeSource {
  static opened: FakeSource[] = []
  onopen: (() => void) | null = null
  onmessage: ((message: { data: string }) => void) | null = null
  onerror: (() => void) | null = null
  isClosed = false
  #beaten: (() => void) | null = null
  constructor(readonly url: string) {
    FakeSource.opened.push(this)
  }
  close(): void {
    this.isClosed = true
  }
  addEventListener(name: string, beaten: () => void): void {
    if (name === 'beat') this.#beaten = beaten
  }
  beat(): void {
    this.#beaten?.()
  }
  send(topic: string): void {
    this.onmessage?.({ data: JSON.stringify({ topic }) })
  }
}

const newest = () => FakeSource.opened.at(-1) as FakeSource
const openCount = () => FakeSource.opened.filter(source => !source.isClosed).length

let hidden = false
let visibilityChanged = () => {}
let answers: () => Promise<boolean>
let links: string[]
let missed: number
let polls: number
let wants: boolean[]
let live: ReturnType<typeof openLive>

beforeEach(() => {
  vi.useFakeTimers()
  FakeSource.opened = []
  hidden = false
  answers = () => Promise.resolve(true)
  links = []
  missed = polls = 0
  wants = []
  live = openLive({
    openSource: url => new FakeSource(url) as unknown as EventSource,
    probe: () => answers(),
    isHidden: () => hidden,
    onVisibility: changed => {
      visibilityChanged = changed
    },
    onReceived: () => {},
    onLink: link => links.push(link),
    onWant: isWanted => wants.push(isWanted),
    onPoll: () => {
      polls += 1
    },
  } satisfies LiveDeps)
})
afterEach(() => vi.useRealTimers())

function subscribe(...topics: string[]): () => void {
  return live.subscribe(topics, {
    onEvent: () => {},
    onMissed: () => {
      missed += 1
    },
  })
}

test('one stream carries the topics of all views', () => {
  subscribe('runs', 'run:b')
  expect(newest().url).toBe('/api/v1/events?topic=run%3Ab&topic=runs')
  subscribe('runs')
  expect(FakeSource.opened).toHaveLength(1)
  subscribe('run:a')
  expect(newest().url).toBe('/api/v1/events?topic=run%3Aa&topic=run%3Ab&topic=runs')
  expect(openCount()).toBe(1)
})

test('each view receives events of its own topics, as long as it holds them', () => {
  const received: string[] = []
  const subscribeAs = (name: string, ...topics: string[]) =>
    live.subscribe(topics, {
      onEvent: ({ topic }: RunEvent) => received.push(`${name} ${topic}`),
      onMissed() {},
    })
  subscribeAs('list', 'runs')
  const leave = subscribeAs('run', 'run:a')
  subscribeAs('compare', 'run:a', 'run:b')
  for (const topic of ['runs', 'run:a', 'run:b']) newest().send(topic)
  expect(received).toEqual(['list runs', 'run run:a', 'compare run:a', 'compare run:b'])
  leave()
  newest().send('run:a')
  expect(received.at(-1)).toBe('compare run:a')
  expect(received).toHaveLength(5)
})

test('a topic is dropped once nobody holds it, but not while one page makes room for the next', async () => {
  const leave = [subscribe('runs'), subscribe('runs')]
  leave[0]?.()
  await vi.advanceTimersByTimeAsync(1_000)
  expect(openCount()).toBe(1)
  leave[1]?.()
  subscribe('runs')
  await vi.advanceTimersByTimeAsync(1_000)
  expect(FakeSource.opened).toHaveLength(1)
})

test('without a view there is no stream', async () => {
  subscribe('runs')()
  await vi.advanceTimersByTimeAsync(1_000)
  expect(openCount()).toBe(0)
  expect(wants.at(-1)).toBe(false)
})

test('who subscribed before another view came may have missed something while the stream was opened anew', () => {
  subscribe('runs')
  newest().onopen?.()
  live.subscribe(['run:a'], { onEvent() {}, onMissed: () => expect.fail('it has only just read') })
  expect(missed).toBe(0)
  newest().onopen?.()
  expect(missed).toBe(1)
})

test('a view that came while nobody answered reads once somebody does', async () => {
  answers = () => Promise.reject(new Error('refused'))
  subscribe('runs')()
  newest().onerror?.()
  subscribe('run:a')
  answers = () => Promise.resolve(true)
  await vi.advanceTimersByTimeAsync(1_000)
  expect(newest().url).toBe('/api/v1/events?topic=run%3Aa')
  newest().onopen?.()
  expect(missed).toBe(1)
})

test('the first opening is no return', () => {
  subscribe('runs')
  newest().onopen?.()
  expect(links).toEqual(['live'])
  expect(missed).toBe(0)
})

test('a stream that ends once is reopened without alarm, and what was missed is read again', async () => {
  subscribe('runs')
  newest().onopen?.()
  newest().onerror?.()
  expect(links.at(-1)).toBe('connecting')
  await vi.advanceTimersByTimeAsync(300)
  newest().onopen?.()
  expect(links.at(-1)).toBe('live')
  expect(missed).toBe(1)
})

test('a service that stays away is said to be gone, and asked ever less often', async () => {
  answers = () => Promise.reject(new Error('refused'))
  subscribe('runs')
  newest().onerror?.()
  await vi.advanceTimersByTimeAsync(300)
  expect(links.at(-1)).toBe('gone')
  const asked = vi.fn(answers)
  answers = asked
  await vi.advanceTimersByTimeAsync(60_000)
  expect(asked.mock.calls.length).toBeLessThan(10)
  expect(openCount()).toBe(0)
})

test('a hidden tab holds no connection', async () => {
  subscribe('runs')
  newest().onopen?.()
  hidden = true
  visibilityChanged()
  expect(openCount()).toBe(0)
  expect(links.at(-1)).toBe('asleep')
  hidden = false
  visibilityChanged()
  await vi.advanceTimersByTimeAsync(0)
  newest().onopen?.()
  expect(missed).toBe(1)
})

test('a request that found nobody brings the banner before the stream notices', async () => {
  answers = () => Promise.reject(new Error('refused'))
  subscribe('runs')
  live.suspect()
  await vi.advanceTimersByTimeAsync(300)
  expect(links.at(-1)).toBe('gone')
})

test('a service that wants a sign-in is not asked again and again', async () => {
  answers = vi.fn(() => Promise.resolve(false))
  subscribe('runs')
  newest().onerror?.()
  await vi.advanceTimersByTimeAsync(60_000)
  expect(answers).toHaveBeenCalledTimes(1)
  expect(openCount()).toBe(0)
})

test('"try now" does not wait', async () => {
  subscribe('runs')
  newest().onerror?.()
  live.retryNow()
  await vi.advanceTimersByTimeAsync(0)
  expect(openCount()).toBe(1)
})

test('a tab too many holds no stream and looks from time to time', async () => {
  subscribe('runs')
  newest().onopen?.()
  live.setCrowded(true)
  expect(openCount()).toBe(0)
  expect(missed).toBe(1)
  await vi.advanceTimersByTimeAsync(11_000)
  expect(missed).toBe(3)
  expect(polls).toBe(3)
  expect(links.at(-1)).toBe('live')
  live.setCrowded(false)
  expect(openCount()).toBe(1)
  newest().onopen?.()
  expect(missed).toBe(4)
  await vi.advanceTimersByTimeAsync(20_000)
  expect(missed).toBe(4)
})

test('a tab too many that finds nobody says so, and looks again when somebody answers', async () => {
  subscribe('runs')
  live.setCrowded(true)
  answers = () => Promise.reject(new Error('gone'))
  live.suspect()
  live.suspect()
  await vi.advanceTimersByTimeAsync(400)
  expect(links.at(-1)).toBe('gone')
  answers = () => Promise.resolve(true)
  await vi.advanceTimersByTimeAsync(2_000)
  expect(links.at(-1)).toBe('live')
  expect(openCount()).toBe(0)
})

test('only a tab that is seen wants a stream', () => {
  subscribe('runs')
  hidden = true
  visibilityChanged()
  expect(wants).toEqual([true, false])
})

test('a stream that was cut without a word is opened anew, one that beats is not', async () => {
  subscribe('runs')
  newest().onopen?.()
  for (let beats = 0; beats < 6; beats += 1) {
    await vi.advanceTimersByTimeAsync(10_000)
    newest().beat()
  }
  expect(FakeSource.opened).toHaveLength(1)
  await vi.advanceTimersByTimeAsync(36_000)
  expect(FakeSource.opened[0]?.isClosed).toBe(true)
  newest().onopen?.()
  expect(openCount()).toBe(1)
  expect(links.slice(-2)).toEqual(['connecting', 'live'])
  expect(missed).toBe(1)
})

test('a stream that never opens is tried again', async () => {
  subscribe('runs')
  await vi.advanceTimersByTimeAsync(36_000)
  expect(FakeSource.opened).toHaveLength(2)
})

test('what an old stream still sends is ignored', () => {
  const received: string[] = []
  live.subscribe(['runs'], { onEvent: ({ topic }) => received.push(topic), onMissed() {} })
  const old = newest()
  live.setCrowded(true)
  old.send('runs')
  expect(received).toEqual([])
})

test('nobody connects where no view wants a stream, or where a sign-in is needed first', async () => {
  subscribe('runs')()
  await vi.advanceTimersByTimeAsync(1_000)
  expect(links.at(-1)).toBe('idle')
  subscribe('runs')
  answers = () => Promise.resolve(false)
  newest().onerror?.()
  await vi.advanceTimersByTimeAsync(60_000)
  expect(links.at(-1)).toBe('idle')
})
