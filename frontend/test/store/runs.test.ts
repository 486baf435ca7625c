import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import type { RunEvent, RunSummary, RunsPage } from '../../src/api/names'
import { parseQuery } from '../../src/store/query'
import {
  catchUp,
  hold,
  load,
  more,
  onEvent,
  order,
  pending,
  refusal,
  resort,
  rows,
  trouble,
} from '../../src/store/runs'
import { summary, week } from '../made'

const COUNTS = { all: 2, running: 2, finished: 0, crashed: 0, lost: 0 }
let served: RunSummary[]
let asked: string[]
let cursor: string | null

function page(): RunsPage {
  return { runs: served, next_cursor: cursor, counts: COUNTS, week: week() }
}

function heard(changes: Partial<RunSummary>): RunEvent {
  return { topic: 'runs', run: summary(changes), diagnosis_changed: false, deleted: false }
}

beforeEach(async () => {
  vi.useFakeTimers()
  served = [summary({ run_id: 'a', hours_lost: 5 }), summary({ run_id: 'b', hours_lost: 3 })]
  asked = []
  cursor = null
  vi.stubGlobal('fetch', (url: string) => {
    asked.push(url)
    return Promise.resolve(new Response(JSON.stringify(page())))
  })
  hold(false)
  await load(parseQuery(new URLSearchParams()))
  await vi.runAllTimersAsync()
  asked = []
})
afterEach(async () => {
  hold(false)
  await vi.runAllTimersAsync()
  vi.unstubAllGlobals()
  vi.useRealTimers()
})

test('a run that somebody deleted leaves at once, also from under the pointer', () => {
  hold(true)
  onEvent({ ...heard({ run_id: 'a' }), deleted: true })
  expect(order.value).toEqual(['b'])
  expect(asked).toEqual([])
})

test('a live run changes in its place', () => {
  const row = rows.get('b')
  onEvent(heard({ run_id: 'b', hours_lost: 4, steps: 99 }))
  expect(rows.get('b')).toBe(row)
  expect(row?.value.steps).toBe(99)
  expect(order.value).toEqual(['a', 'b'])
})

test('rows move by themselves only while nobody points at them', () => {
  hold(true)
  onEvent(heard({ run_id: 'b', hours_lost: 9 }))
  expect(order.value).toEqual(['a', 'b'])
  expect(pending.value).toEqual({ moves: 2, fresh: 0 })
  hold(false)
  expect(order.value).toEqual(['b', 'a'])
  expect(pending.value).toEqual({ moves: 0, fresh: 0 })
})

test('the reader may sort under the pointer', () => {
  hold(true)
  onEvent(heard({ run_id: 'b', hours_lost: 9 }))
  resort()
  expect(order.value).toEqual(['b', 'a'])
})

test('a new run is asked for once, and comes in where the service puts it', async () => {
  served = [summary({ run_id: 'new', hours_lost: 7 }), ...served]
  onEvent(heard({ run_id: 'new', hours_lost: 7 }))
  onEvent(heard({ run_id: 'new', hours_lost: 7 }))
  await vi.advanceTimersByTimeAsync(10)
  expect(order.value).toEqual(['new', 'a', 'b'])
  expect(asked.filter(url => url.includes('limit=200'))).toHaveLength(1)
})

test('a run that the filter leaves out is not asked for again with every event', async () => {
  for (let second = 0; second < 20; second += 1) {
    onEvent(heard({ run_id: 'other' }))
    await vi.advanceTimersByTimeAsync(1_000)
  }
  expect(asked.filter(url => url.includes('limit=200'))).toHaveLength(1)
  expect(order.value).toEqual(['a', 'b'])
})

test('a new run waits while the pointer is in the table', async () => {
  hold(true)
  onEvent(heard({ run_id: 'new' }))
  await vi.advanceTimersByTimeAsync(5_000)
  expect(order.value).toEqual(['a', 'b'])
  expect(pending.value.fresh).toBe(1)
})

test('a run that ends moves nothing under the pointer, and is read again once it is gone', async () => {
  hold(true)
  served = [...served].reverse()
  onEvent(heard({ run_id: 'b', hours_lost: 3, status: 'finished' }))
  await vi.advanceTimersByTimeAsync(5_000)
  expect(order.value).toEqual(['a', 'b'])
  expect(asked.filter(url => url.includes('limit=200'))).toHaveLength(0)
  hold(false)
  await vi.advanceTimersByTimeAsync(5_000)
  expect(asked.filter(url => url.includes('limit=200'))).toHaveLength(1)
})

test('events that were missed are caught up with', async () => {
  catchUp()
  await vi.advanceTimersByTimeAsync(10)
  expect(asked.filter(url => url.includes('limit=200'))).toHaveLength(1)
})

test('the next page is appended, once', async () => {
  cursor = '2'
  await load(parseQuery(new URLSearchParams('q=x')))
  served = [summary({ run_id: 'b', hours_lost: 3 }), summary({ run_id: 'c', hours_lost: 1 })]
  cursor = null
  await Promise.all([more(), more()])
  expect(order.value).toEqual(['a', 'b', 'c'])
})

test('a failing service leaves the rows and says so', async () => {
  vi.stubGlobal('fetch', () => Promise.resolve(new Response('{}', { status: 500 })))
  await load(parseQuery(new URLSearchParams()))
  expect(trouble.value?.status).toBe(500)
  expect(order.value).toEqual(['a', 'b'])
})

test('a search that is not understood leaves the rows and says why, until one is', async () => {
  const error = { code: 'invalid', field: 'q', message: "q, character 1: there is no key 'x'" }
  vi.stubGlobal('fetch', () => Promise.resolve(new Response(JSON.stringify({ error }), { status: 422 })))
  await load(parseQuery(new URLSearchParams('q=x:1')))
  expect(refusal.value).toContain("there is no key 'x'")
  expect(trouble.value).toBeNull()
  expect(order.value).toEqual(['a', 'b'])
  vi.stubGlobal('fetch', () => Promise.resolve(new Response(JSON.stringify(page()))))
  await load(parseQuery(new URLSearchParams('q=x')))
  expect(refusal.value).toBeNull()
})

test('a run that somebody put away is read again', async () => {
  onEvent(heard({ run_id: 'b', hours_lost: 3, archived_at: '2026-11-20T10:00:00Z' }))
  await vi.advanceTimersByTimeAsync(5_000)
  expect(asked.filter(url => url.includes('limit=200'))).toHaveLength(1)
})
