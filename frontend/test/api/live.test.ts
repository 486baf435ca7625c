import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { type Live, type LiveDeps, openLive } from '../../src/api/live'

class FakeSource {
  static opened: FakeSource[] = []
  onopen: (() => void) | null = null
  onmessage: ((message: { data: string }) => void) | null = null
  onerror: (() => void) | null = null
  isClosed = false
  constructor(readonly url: string) {
    FakeSource.opened.push(this)
  }
  close(): void {
    this.isClosed = true
  }
}

const newest = () => FakeSource.opened.at(-1) as FakeSource
const openCount = () => FakeSource.opened.filter(source => !source.isClosed).length

let hidden = false
let visibilityChanged = () => {}
let answers: () => Promise<boolean>
let links: string[]
let backs: number
let wants: boolean[]
let live: Live

beforeEach(() => {
  vi.useFakeTimers()
  FakeSource.opened = []
  hidden = false
  answers = () => Promise.resolve(true)
  links = []
  backs = 0
  wants = []
  live = openLive({
    openSource: url => new FakeSource(url) as unknown as EventSource,
    probe: () => answers(),
    isHidden: () => hidden,
    onVisibility: changed => {
      visibilityChanged = changed
    },
    onEvent: () => {},
    onLink: link => links.push(link),
    onBack: () => {
      backs += 1
    },
    onWant: isWanted => wants.push(isWanted),
  } satisfies LiveDeps)
})
afterEach(() => vi.useRealTimers())

test('one stream carries all topics', () => {
  live.watch(['runs', 'run:a'])
  expect(newest().url).toBe('/api/v1/events?topic=runs&topic=run%3Aa')
  live.watch(['runs', 'run:a'])
  expect(FakeSource.opened).toHaveLength(1)
  live.watch(['run:b'])
  expect(openCount()).toBe(1)
})

test('the first opening is no return', () => {
  live.watch(['runs'])
  newest().onopen?.()
  expect(links).toEqual(['live'])
  expect(backs).toBe(0)
})

test('a stream that ends once is reopened without alarm, and what was missed is read again', async () => {
  live.watch(['runs'])
  newest().onopen?.()
  newest().onerror?.()
  expect(links.at(-1)).toBe('connecting')
  await vi.advanceTimersByTimeAsync(300)
  newest().onopen?.()
  expect(links.at(-1)).toBe('live')
  expect(backs).toBe(1)
})

test('a service that stays away is said to be gone, and asked ever less often', async () => {
  answers = () => Promise.reject(new Error('refused'))
  live.watch(['runs'])
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
  live.watch(['runs'])
  newest().onopen?.()
  hidden = true
  visibilityChanged()
  expect(openCount()).toBe(0)
  expect(links.at(-1)).toBe('asleep')
  hidden = false
  visibilityChanged()
  await vi.advanceTimersByTimeAsync(0)
  newest().onopen?.()
  expect(backs).toBe(1)
})

test('a request that found nobody brings the banner before the stream notices', async () => {
  answers = () => Promise.reject(new Error('refused'))
  live.watch(['runs'])
  live.suspect()
  await vi.advanceTimersByTimeAsync(300)
  expect(links.at(-1)).toBe('gone')
})

test('a service that wants a sign-in is not asked again and again', async () => {
  answers = vi.fn(() => Promise.resolve(false))
  live.watch(['runs'])
  newest().onerror?.()
  await vi.advanceTimersByTimeAsync(60_000)
  expect(answers).toHaveBeenCalledTimes(1)
  expect(openCount()).toBe(0)
})

test('"try now" does not wait', async () => {
  live.watch(['runs'])
  newest().onerror?.()
  live.retryNow()
  await vi.advanceTimersByTimeAsync(0)
  expect(openCount()).toBe(1)
})

test('a tab too many holds no stream and looks from time to time', async () => {
  live.watch(['runs'])
  newest().onopen?.()
  live.crowd(true)
  expect(openCount()).toBe(0)
  expect(backs).toBe(1)
  await vi.advanceTimersByTimeAsync(11_000)
  expect(backs).toBe(3)
  expect(links.at(-1)).toBe('live')
  live.crowd(false)
  expect(openCount()).toBe(1)
  newest().onopen?.()
  expect(backs).toBe(4)
  await vi.advanceTimersByTimeAsync(20_000)
  expect(backs).toBe(4)
})

test('a tab too many that finds nobody says so, and looks again when somebody answers', async () => {
  live.watch(['runs'])
  live.crowd(true)
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
  live.watch(['runs'])
  hidden = true
  visibilityChanged()
  expect(wants).toEqual([true, false])
})
