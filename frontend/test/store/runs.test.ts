// @vitest-environment happy-dom
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import type { RunEvent, RunSummary, RunsPage } from '../../src/api/schema'
import { parseFilter } from '../../src/store/filter'
import { openRuns, type RunsStore } from '../../src/store/runs'
import { summary, week } from '../made'

class StreamOfOurs {
  static newest: StreamOfOurs
  onopen: (() => void) | null = null
  onmessage: ((message: { data: string }) => void) | null = null
  onerror: (() => void) | null = null
  constructor() {
    StreamOfOurs.newest = this
  }
  addEventListener(): void {}
  close(): void {}
}

const COUNTS = { all: 2, running: 2, finished: 0, crashed: 0, lost: 0 }
let served: RunSummary[]
let asked: string[]
let cursor: string | null
/** Before the service answers. */
let takesMs: number
/** Answers that were asked for and wait for their turn; `null`: each comes as soon as it may. */
let waiting: (() => void)[] | null
let runs: RunsStore
let leave: () => void

function page(): RunsPage {
  return { runs: served, next_cursor: cursor, counts: COUNTS, week: week() }
}

function receive(changes: Partial<RunSummary>, deleted = false): void {
  const event: RunEvent = { topic: 'runs', run: summary(changes), diagnosis_changed: false, deleted }
  StreamOfOurs.newest.onmessage?.({ data: JSON.stringify(event) })
}

beforeEach(async () => {
  vi.useFakeTimers()
  served = [summary({ run_id: 'a', hours_lost: 5 }), summary({ run_id: 'b', hours_lost: 3 })]
  asked = []
  cursor = null
  takesMs = 0
  waiting = null
  vi.stubGlobal('fetch', async (url: string, { signal }: RequestInit) => {
    asked.push(url)
    const isList = url.split('?')[0] === '/api/v1/runs'
    const answer = JSON.stringify(isList ? page() : [])
    if (waiting && url.includes('limit=200')) await new Promise<void>(resolve => waiting?.push(resolve))
    if (takesMs > 0) await new Promise(resolve => setTimeout(resolve, takesMs))
    if (signal?.aborted) throw new DOMException('', 'AbortError')
    return new Response(answer)
  })
  vi.stubGlobal('EventSource', StreamOfOurs)
  runs = openRuns()
  leave = runs.follow()
  await runs.load(parseFilter(new URLSearchParams()))
  await vi.advanceTimersByTimeAsync(3_000)
  asked = []
})
afterEach(async () => {
  leave()
  runs.close()
  await vi.advanceTimersByTimeAsync(3_000)
  vi.unstubAllGlobals()
  vi.useRealTimers()
})

test('a run that somebody deleted leaves at once, also from under the pointer', () => {
  runs.hold(true)
  receive({ run_id: 'a' }, true)
  expect(runs.order.value).toEqual(['b'])
  expect(asked).toEqual([])
})

test('a live run changes in its place', () => {
  const row = runs.rows.get('b')
  receive({ run_id: 'b', hours_lost: 4, steps: 99 })
  expect(runs.rows.get('b')).toBe(row)
  expect(row?.value.steps).toBe(99)
  expect(runs.order.value).toEqual(['a', 'b'])
})

test('rows move by themselves only while nobody points at them', () => {
  runs.hold(true)
  receive({ run_id: 'b', hours_lost: 9 })
  expect(runs.order.value).toEqual(['a', 'b'])
  expect(runs.pending.value).toEqual({ moves: 2, fresh: 0 })
  runs.hold(false)
  expect(runs.order.value).toEqual(['b', 'a'])
  expect(runs.pending.value).toEqual({ moves: 0, fresh: 0 })
})

test('the reader may sort under the pointer', () => {
  runs.hold(true)
  receive({ run_id: 'b', hours_lost: 9 })
  runs.resort()
  expect(runs.order.value).toEqual(['b', 'a'])
})

test('a new run is asked for once, and comes in where the service puts it', async () => {
  served = [summary({ run_id: 'new', hours_lost: 7 }), ...served]
  receive({ run_id: 'new', hours_lost: 7 })
  receive({ run_id: 'new', hours_lost: 7 })
  await vi.advanceTimersByTimeAsync(10)
  expect(runs.order.value).toEqual(['new', 'a', 'b'])
  expect(asked.filter(url => url.includes('limit=200'))).toHaveLength(1)
})

test('a run that the filter leaves out is not asked for again with every event', async () => {
  for (let second = 0; second < 20; second += 1) {
    receive({ run_id: 'other' })
    await vi.advanceTimersByTimeAsync(1_000)
  }
  expect(asked.filter(url => url.includes('limit=200'))).toHaveLength(1)
  expect(runs.order.value).toEqual(['a', 'b'])
})

test('a run that begins to match comes in, by what it is and by its figures', async () => {
  const filtered = runs.load(parseFilter(new URLSearchParams('q=stall>20%')))
  await vi.advanceTimersByTimeAsync(3_000)
  await filtered
  receive({ run_id: 'other', bound: 'compute' })
  await vi.advanceTimersByTimeAsync(3_000)
  expect(runs.order.value).toEqual(['a', 'b'])
  served = [...served, summary({ run_id: 'other', hours_lost: 1 })]
  receive({ run_id: 'other', bound: 'data' })
  await vi.advanceTimersByTimeAsync(3_000)
  expect(runs.order.value).toEqual(['a', 'b', 'other'])
  served = served.slice(0, 2)
  receive({ run_id: 'other', bound: 'compute' })
  await vi.advanceTimersByTimeAsync(3_000)
  expect(runs.order.value).toEqual(['a', 'b'])
  served = [...served, summary({ run_id: 'other', hours_lost: 1 })]
  for (let second = 0; second < 34; second += 1) {
    receive({ run_id: 'other', bound: 'compute', data_stall_fraction: 0.3 })
    await vi.advanceTimersByTimeAsync(1_000)
  }
  expect(runs.order.value).toContain('other')
})

test('a run whose figures cease to match leaves', async () => {
  const filtered = runs.load(parseFilter(new URLSearchParams('q=stall>30%')))
  await vi.advanceTimersByTimeAsync(3_000)
  await filtered
  served = served.slice(0, 1)
  for (let second = 0; second < 34; second += 1) {
    receive({ run_id: 'b', data_stall_fraction: 0.28 })
    await vi.advanceTimersByTimeAsync(1_000)
  }
  expect(runs.order.value).toEqual(['a'])
})

test('a new run that waits while the pointer is in the table is not forgotten as the next page is read', async () => {
  cursor = '2'
  await runs.load(parseFilter(new URLSearchParams()))
  runs.hold(true)
  receive({ run_id: 'new', hours_lost: 7 })
  await runs.more()
  expect(runs.pending.value.fresh).toBe(1)
  served = [summary({ run_id: 'new', hours_lost: 7 }), ...served]
  runs.hold(false)
  await vi.advanceTimersByTimeAsync(3_000)
  expect(runs.order.value).toContain('new')
})

test('an answer that takes longer than the next event still arrives', async () => {
  takesMs = 7_000
  served = [summary({ run_id: 'new', hours_lost: 7 }), ...served]
  for (let second = 0; second < 10; second += 1) {
    receive({ run_id: second % 2 ? 'new' : 'newer', hours_lost: 7 })
    await vi.advanceTimersByTimeAsync(1_000)
  }
  expect(runs.order.value).toEqual(['new', 'a', 'b'])
})

test('a late answer brings back neither a deleted run nor old figures', async () => {
  takesMs = 3_000
  const reading = runs.load(parseFilter(new URLSearchParams()))
  await vi.advanceTimersByTimeAsync(1_000)
  receive({ run_id: 'a' }, true)
  receive({ run_id: 'b', steps: 99, last_seen_at: '2126-11-21T10:00:00Z' })
  await vi.advanceTimersByTimeAsync(3_000)
  await reading
  expect(runs.order.value).toEqual(['b'])
  expect(runs.rows.get('b')?.value.steps).toBe(99)
})

test('the next page and a reload wait for each other', async () => {
  cursor = '2'
  await runs.load(parseFilter(new URLSearchParams('q=x')))
  takesMs = 2_000
  const more = runs.more()
  await vi.advanceTimersByTimeAsync(500)
  served = [summary({ run_id: 'c', hours_lost: 1 })]
  cursor = null
  receive({ run_id: 'c', hours_lost: 1 })
  await vi.advanceTimersByTimeAsync(8_000)
  await more
  expect(runs.order.value).toEqual(['c'])
})

/** What was asked for first is answered with what there was as it was asked for. */
async function answerNext(): Promise<void> {
  waiting?.shift()?.()
  await vi.advanceTimersByTimeAsync(0)
}

test('an answer from before a change is followed by one from after it', async () => {
  waiting = []
  served = [summary({ run_id: 'b', hours_lost: 3 }), summary({ run_id: 'c', hours_lost: 1 })]
  receive({ run_id: 'a', hours_lost: 5, archived_at: '2026-11-20T10:00:00Z' })
  await vi.advanceTimersByTimeAsync(0)
  expect(waiting).toHaveLength(1)
  served = served.slice(1)
  runs.changed(['a', 'b'])
  await answerNext()
  await answerNext()
  expect(runs.order.value).toEqual(['c'])
  expect(waiting).toEqual([])
})

test('what others change while the list is being read is read after it', async () => {
  waiting = []
  runs.changed()
  await vi.advanceTimersByTimeAsync(0)
  served = served.slice(0, 1)
  receive({ run_id: 'b', hours_lost: 3, archived_at: '2026-11-20T10:00:00Z' })
  await vi.advanceTimersByTimeAsync(0)
  await answerNext()
  await answerNext()
  expect(runs.order.value).toEqual(['a'])
})

test('scrolling does not cancel the list that was asked for meanwhile', async () => {
  cursor = '2'
  await runs.load(parseFilter(new URLSearchParams('q=x')))
  waiting = []
  cursor = null
  served = [summary({ run_id: 'c', hours_lost: 1 })]
  const loading = runs.load(parseFilter(new URLSearchParams('q=y')))
  const more = runs.more()
  await vi.advanceTimersByTimeAsync(0)
  await answerNext()
  await Promise.all([loading, more])
  expect(runs.order.value).toEqual(['c'])
  expect(asked.filter(url => url.includes('cursor='))).toEqual([])
})

test('a new run waits while the pointer is in the table', async () => {
  runs.hold(true)
  receive({ run_id: 'new' })
  await vi.advanceTimersByTimeAsync(5_000)
  expect(runs.order.value).toEqual(['a', 'b'])
  expect(runs.pending.value.fresh).toBe(1)
})

test('a run that ends moves nothing under the pointer, and is read again once it is gone', async () => {
  runs.hold(true)
  served = [...served].reverse()
  receive({ run_id: 'b', hours_lost: 3, status: 'finished' })
  await vi.advanceTimersByTimeAsync(5_000)
  expect(runs.order.value).toEqual(['a', 'b'])
  expect(asked.filter(url => url.includes('limit=200'))).toHaveLength(0)
  runs.hold(false)
  await vi.advanceTimersByTimeAsync(5_000)
  expect(asked.filter(url => url.includes('limit=200'))).toHaveLength(1)
})

test('events that were missed are caught up with', async () => {
  const stream = StreamOfOurs.newest
  stream.onerror?.()
  await vi.advanceTimersByTimeAsync(400)
  expect(StreamOfOurs.newest).not.toBe(stream)
  StreamOfOurs.newest.onopen?.()
  await vi.advanceTimersByTimeAsync(10)
  expect(asked.filter(url => url.includes('limit=200'))).toHaveLength(1)
})

test('the next page is appended, once', async () => {
  cursor = '2'
  await runs.load(parseFilter(new URLSearchParams('q=x')))
  served = [summary({ run_id: 'b', hours_lost: 3 }), summary({ run_id: 'c', hours_lost: 1 })]
  cursor = null
  await Promise.all([runs.more(), runs.more()])
  expect(runs.order.value).toEqual(['a', 'b', 'c'])
})

test('a failing service leaves the rows and says so', async () => {
  vi.stubGlobal('fetch', () => Promise.resolve(new Response('{}', { status: 500 })))
  await runs.load(parseFilter(new URLSearchParams()))
  expect(runs.trouble.value?.status).toBe(500)
  expect(runs.order.value).toEqual(['a', 'b'])
})

test('what was to be read while the service failed is read once it answers again', async () => {
  const answering = fetch
  vi.stubGlobal('fetch', () => Promise.resolve(new Response('{}', { status: 500 })))
  receive({ run_id: 'b', hours_lost: 3, status: 'finished' })
  await vi.advanceTimersByTimeAsync(5_000)
  vi.stubGlobal('fetch', answering)
  runs.hold(false)
  await vi.advanceTimersByTimeAsync(5_000)
  expect(asked.filter(url => url.includes('limit=200'))).toHaveLength(1)
})

test('a list that was opened while nobody answered is read when somebody does', async () => {
  const answering = fetch
  vi.stubGlobal('fetch', () => Promise.reject(new TypeError('no answer')))
  const late = openRuns()
  const leaveLate = late.follow()
  await late.load(parseFilter(new URLSearchParams()))
  expect(late.isLoaded.value).toBe(false)
  vi.stubGlobal('fetch', answering)
  StreamOfOurs.newest.onerror?.()
  await vi.advanceTimersByTimeAsync(30_000)
  StreamOfOurs.newest.onopen?.()
  await vi.advanceTimersByTimeAsync(3_000)
  expect(late.order.value).toEqual(['a', 'b'])
  expect(late.choices.value.projects).toEqual([])
  expect(asked).toContain('/api/v1/projects')
  leaveLate()
  late.close()
})

test('a search that is not understood leaves the rows and says why, until one is', async () => {
  const error = { code: 'invalid', field: 'q', message: "q, character 1: there is no key 'x'" }
  vi.stubGlobal('fetch', () => Promise.resolve(new Response(JSON.stringify({ error }), { status: 422 })))
  await runs.load(parseFilter(new URLSearchParams('q=x:1')))
  expect(runs.refusal.value).toContain("there is no key 'x'")
  expect(runs.trouble.value).toBeNull()
  expect(runs.order.value).toEqual(['a', 'b'])
  vi.stubGlobal('fetch', () => Promise.resolve(new Response(JSON.stringify(page()))))
  await runs.load(parseFilter(new URLSearchParams('q=x')))
  expect(runs.refusal.value).toBeNull()
})

test('a run that somebody put away is read again', async () => {
  receive({ run_id: 'b', hours_lost: 3, archived_at: '2026-11-20T10:00:00Z' })
  await vi.advanceTimersByTimeAsync(5_000)
  expect(asked.filter(url => url.includes('limit=200'))).toHaveLength(1)
})

test('the first verdict of a week that had none is counted at once', async () => {
  receive({ run_id: 'a', hours_lost: null })
  await vi.advanceTimersByTimeAsync(0)
  runs.week.put(week({ hours_lost: 0, hours_used: 0 }))
  receive({ run_id: 'a', hours_lost: null })
  await vi.advanceTimersByTimeAsync(0)
  expect(runs.week.peek()?.hours_used, 'read again later').toBe(0)
  receive({ run_id: 'a', hours_lost: 0.2 })
  await vi.advanceTimersByTimeAsync(0)
  expect(runs.week.peek()?.hours_used).toBe(2_290)
})
