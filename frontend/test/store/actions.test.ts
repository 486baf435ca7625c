// @vitest-environment happy-dom
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { archive, remove, retag } from '../../src/store/actions'
import { parseFilter } from '../../src/store/filter'
import { dismiss, notice } from '../../src/store/notice'
import { openRuns, type RunsStore } from '../../src/store/runs'
import { summary, week } from '../made'

let asked: [string, string, unknown][]
let refused: string | null
let served: string[]
let runs: RunsStore

function answer(url: string, init: RequestInit): Response {
  if (init.method) {
    asked.push([init.method, url, JSON.parse(String(init.body))])
    if (!refused || !url.includes(refused)) return new Response(null, { status: 204 })
    const error = { code: 'conflict', message: `run '${refused}' is still running` }
    return new Response(JSON.stringify({ error }), { status: 409 })
  }
  const counts = { all: 3, running: 3, finished: 0, crashed: 0, lost: 0 }
  const runs = served.map(run_id => summary({ run_id, tags: { owner: run_id } }))
  return new Response(JSON.stringify({ runs, next_cursor: null, counts, week: week() }))
}

beforeEach(async () => {
  asked = []
  refused = null
  served = ['a', 'b', 'c']
  vi.stubGlobal('fetch', (url: string, init: RequestInit = {}) => Promise.resolve(answer(url, init)))
  runs = openRuns()
  await runs.load(parseFilter(new URLSearchParams()))
})
afterEach(() => {
  dismiss()
  runs.close()
  vi.unstubAllGlobals()
})

test('what is deleted leaves the list at once and comes back by undo', async () => {
  runs.selection.set(['a', 'c'], true)
  served = ['b']
  await remove(runs, runs.selection.ids.value)
  expect(asked).toEqual([
    ['DELETE', '/api/v1/runs/a', {}],
    ['DELETE', '/api/v1/runs/c', {}],
  ])
  expect(runs.order.value).toEqual(['b'])
  expect(runs.selection.has('a')).toBe(false)
  expect(notice.value?.text).toBe('2 runs deleted.')
  asked = []
  served = ['a', 'b', 'c']
  await notice.value?.undo?.()
  await vi.waitFor(() => expect(runs.order.value).toEqual(['a', 'b', 'c']))
  expect(asked.map(([method, url]) => `${method} ${url}`)).toEqual([
    'POST /api/v1/runs/a/restore',
    'POST /api/v1/runs/c/restore',
  ])
  expect(notice.value).toBeNull()
})

test('what fails is said, and does not keep the others from being done', async () => {
  refused = '/b'
  await remove(runs, ['a', 'b', 'c'])
  expect(notice.value?.text).toBe("2 runs deleted. Not done: run '/b' is still running.")
  expect(asked).toHaveLength(3)
  asked = []
  await notice.value?.undo?.()
  expect(asked.map(([, url]) => url)).toEqual(['/api/v1/runs/a/restore', '/api/v1/runs/c/restore'])
})

test('tags are added and taken away, and by undo each run has its own again', async () => {
  await retag(runs, ['a', 'b'], { team: 'vision' }, ['owner'])
  expect(asked.map(([, , body]) => body)).toEqual(Array(2).fill({ tags: { team: 'vision' } }))
  asked = []
  await notice.value?.undo?.()
  expect(asked.map(([, , body]) => body)).toEqual([{ tags: { owner: 'a' } }, { tags: { owner: 'b' } }])
})

test('when nothing could be done there is nothing to undo', async () => {
  refused = '/b'
  await archive(runs, ['b'])
  expect(asked).toEqual([['PATCH', '/api/v1/runs/b', { archived: true }]])
  expect(notice.value?.undo).toBeNull()
  expect(runs.order.value).toEqual(['a', 'b', 'c'])
})

test('what is not in the list is not selected', () => {
  runs.selection.set(['a', 'gone'], true)
  expect(runs.selection.ids.value).toEqual(['a'])
  runs.selection.set(['a'], false)
  expect(runs.selection.ids.value).toEqual([])
})
