// @vitest-environment happy-dom
import { afterEach, beforeAll, beforeEach, expect, test, vi } from 'vitest'
import { loadCharts, openRun, type RunStore } from '../../src/store/run'
import { diagnosis, run, series, seriesPage, summary } from '../made'

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
  send(changes: object, diagnosisChanged = false): void {
    const run = summary(changes)
    const event = { topic: `run:${run.run_id}`, run, diagnosis_changed: diagnosisChanged, deleted: false }
    this.onmessage?.({ data: JSON.stringify(event) })
  }
}

let asked: string[]
let failing: string | null
let store: RunStore

function body(path: string, loader: string | null): unknown {
  if (path === '/api/v1/runs') return { runs: [] }
  if (path.endsWith('/diagnosis')) return diagnosis(loader ? { loader } : {})
  if (path.endsWith('/series')) return seriesPage(series('step_us', Array(4_000).fill(400)))
  if (path.endsWith('/workers'))
    return { run_id: 'run-1', rank: 0, loader: 'train', workers: [], heatmap: null }
  if (path.endsWith('/timeline')) return { run_id: 'run-1', rank: 0, loader: 'train', batches: [], steps: [] }
  return run()
}

const count = (part: string) => asked.filter(url => url.split('?')[0]?.endsWith(part)).length

beforeAll(async () => void (await loadCharts()))
beforeEach(async () => {
  vi.useFakeTimers()
  asked = []
  failing = null
  vi.stubGlobal('EventSource', StreamOfOurs)
  vi.stubGlobal('fetch', (url: string) => {
    asked.push(url)
    const path = url.split('?')[0] as string
    const error = { error: { code: 'internal', message: 'It broke.', request_id: 'req-7' } }
    if (failing && (path.endsWith(failing) || url.endsWith(failing))) {
      return Promise.resolve(new Response(JSON.stringify(error), { status: failing === 'run-1' ? 404 : 500 }))
    }
    return Promise.resolve(
      new Response(JSON.stringify(body(path, new URLSearchParams(url.split('?')[1]).get('loader')))),
    )
  })
  store = openRun('run-1')
  await vi.advanceTimersByTimeAsync(6_000)
})
afterEach(() => {
  store.close()
  vi.unstubAllGlobals()
  vi.useRealTimers()
})

test('everything is read once at first', () => {
  expect(asked).toHaveLength(6)
  expect(asked.filter(url => url.startsWith('/api/v1/runs?'))).toHaveLength(1)
  expect(store.run.value?.run_id).toBe('run-1')
  expect(store.diagnosis.value?.level).toBe('bound')
})

test('events update the head at once and the rest at most every two seconds', async () => {
  for (let tick = 0; tick < 20; tick += 1) {
    StreamOfOurs.newest.send({ steps: tick })
    expect(store.run.value?.steps).toBe(tick)
    await vi.advanceTimersByTimeAsync(250)
  }
  expect(count('/series') - 1).toBeLessThanOrEqual(4)
  expect(count('/diagnosis')).toBe(1)
})

test('what does not move with the windows stays the same object while they come', async () => {
  const before = store.still.value
  const shown = store.diagnosis.value
  StreamOfOurs.newest.send({ steps: 99, last_seen_at: '2026-11-21T10:09:00Z' }, true)
  await vi.advanceTimersByTimeAsync(6_000)
  expect(store.still.value).toBe(before)
  expect(store.diagnosis.value).toBe(shown)
  expect(before).not.toHaveProperty('steps')
  StreamOfOurs.newest.send({ name: 'another' })
  expect(store.still.value?.name).toBe('another')
  expect(store.still.value?.loaders).toBe(before?.loaders)
})

test('a new verdict is read when the service says that there is one', async () => {
  StreamOfOurs.newest.send({}, true)
  await vi.advanceTimersByTimeAsync(0)
  expect(count('/diagnosis')).toBe(2)
})

test('a run that ended is read once more, as a whole', async () => {
  StreamOfOurs.newest.send({ status: 'finished' })
  await vi.advanceTimersByTimeAsync(0)
  expect(asked).toHaveLength(11)
})

test('events of other runs are not ours', async () => {
  StreamOfOurs.newest.send({ run_id: 'other', steps: 1 })
  await vi.advanceTimersByTimeAsync(3_000)
  expect(asked).toHaveLength(6)
})

test('the newest minutes are asked for by step', async () => {
  store.select({ range: { kind: 'newest', spanS: 900 } })
  await vi.advanceTimersByTimeAsync(0)
  expect(asked.at(-1)).toContain('/workers?from_step=30990')
  expect(asked.at(-2)).toContain('from_step=30990')
})

test('a stretch that is drawn over is asked for with the step that it ends on', async () => {
  store.zoom(100, 200.5)
  await vi.advanceTimersByTimeAsync(0)
  expect(asked.at(-1)).toContain('from_step=1000&to_step=2006')
})

test('another rank is read in all its charts, another range in those of the run', async () => {
  store.select({ rank: 3 })
  await vi.advanceTimersByTimeAsync(0)
  expect(asked.slice(6).every(url => url.includes('rank=3'))).toBe(true)
  expect(asked).toHaveLength(9)
  store.select({ range: { kind: 'steps', from: 10, to: 20 } })
  await vi.advanceTimersByTimeAsync(0)
  expect(asked.slice(9).map(url => url.match(/\/(series|workers)\?.*from_step=10&to_step=20/)?.[1])).toEqual([
    'series',
    'workers',
  ])
})

test('an answer to an earlier choice changes nothing', async () => {
  const answering = fetch
  let late: (response: Response) => void = () => {}
  const isLate = (url: string) => url.includes('/series?') && url.includes('rank=1')
  const held = () =>
    new Promise<Response>(resolve => {
      late = resolve
    })
  vi.stubGlobal('fetch', (url: string) => (isLate(url) ? held() : answering(url)))
  for (const rank of [1, 2]) {
    store.select({ rank })
    await vi.advanceTimersByTimeAsync(0)
  }
  const shown = store.series.value
  late(new Response(JSON.stringify(seriesPage(series('step_us', [1, 2, 3])))))
  await vi.advanceTimersByTimeAsync(0)
  expect(store.series.value).toBe(shown)
})

test('another loader is read in its verdict and all its charts, and both go on being read', async () => {
  const asksFor = (loader: string) => asked.filter(url => url.includes(`loader=${loader}`))
  expect(store.shown.value?.loader).toBe('train')
  store.select({ loader: 'val' })
  expect(store.shown.value?.loader).toBe('train')
  await vi.advanceTimersByTimeAsync(0)
  expect(asksFor('val').map(url => url.match(/run-1\/(\w+)/)?.[1])).toEqual([
    'diagnosis',
    'series',
    'workers',
    'timeline',
  ])
  expect([store.shown.value?.loader, store.diagnosis.value?.loader]).toEqual(['val', 'train'])
  StreamOfOurs.newest.send({}, true)
  await vi.advanceTimersByTimeAsync(6_000)
  expect(asksFor('val').filter(url => url.includes('/diagnosis'))).toHaveLength(2)
  expect(count('/diagnosis')).toBe(4)
  store.select({ loader: null })
  expect(store.shown.value).toBe(store.diagnosis.value)
})

test('a loader that does not exist is named, and the run’s own verdict is shown', async () => {
  failing = '/diagnosis?loader=nope'
  store.select({ loader: 'nope' })
  await vi.advanceTimersByTimeAsync(0)
  expect([...store.troubles.value.keys()]).toEqual(['ofLoader'])
  expect(store.shown.value).toBe(store.diagnosis.value)
  store.select({ loader: null })
  await vi.advanceTimersByTimeAsync(0)
  expect(store.troubles.value.size).toBe(0)
})

test('the spread is asked for with the series, and only there', async () => {
  store.select({ figures: 'percentiles' })
  await vi.advanceTimersByTimeAsync(0)
  expect(asked.slice(6)).toHaveLength(1)
  expect(asked.at(-1)).toContain('percentiles=true')
})

test('a link to the newest minutes finds them once the run is known', async () => {
  store.close()
  asked = []
  const newest = { kind: 'newest', spanS: 900 } as const
  store = openRun('run-1', { rank: null, loader: null, range: newest, figures: 'mean' })
  await vi.advanceTimersByTimeAsync(2_000)
  for (const part of ['/series', '/workers']) {
    expect(asked.filter(url => url.includes(part)).at(-1)).toContain('from_step=30990')
  }
})

test('a part that fails is named, what was read before stays, and it heals', async () => {
  failing = '/series'
  StreamOfOurs.newest.send({})
  await vi.advanceTimersByTimeAsync(0)
  expect(store.troubles.value.get('series')?.requestId).toBe('req-7')
  expect(store.series.value).not.toBeNull()
  failing = null
  StreamOfOurs.newest.send({})
  await vi.advanceTimersByTimeAsync(3_000)
  expect(store.troubles.value.size).toBe(0)
})

test('a run that does not exist is missing, not in trouble, and asked for once', async () => {
  store.close()
  failing = 'run-1'
  asked = []
  store = openRun('run-1')
  await vi.advanceTimersByTimeAsync(0)
  expect(store.isMissing.value).toBe(true)
  expect(store.troubles.value.size).toBe(0)
  await vi.advanceTimersByTimeAsync(60_000)
  expect(asked).toEqual(['/api/v1/runs/run-1'])
  failing = null
  StreamOfOurs.newest.send({})
  await vi.advanceTimersByTimeAsync(5_000)
  expect(store.isMissing.value).toBe(false)
  expect(store.diagnosis.value).not.toBeNull()
})

test('a run of the list is read at once, as a whole', async () => {
  store.close()
  asked = []
  store = openRun('run-1', undefined, true)
  expect(asked).toHaveLength(5)
})
