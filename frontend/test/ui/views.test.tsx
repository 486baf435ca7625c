// @vitest-environment happy-dom
import type { Signal } from '@preact/signals'
import { cleanup, fireEvent, render, screen, waitFor } from '@testing-library/preact'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import type { AuditEntry, HistoryRun, JobLine, ServiceInfo, View } from '../../src/api/schema'
import { navigate } from '../../src/router'
import { chooseColumns } from '../../src/store/chosen'
import { service } from '../../src/store/connection'
import { openRuns, type RunsStore } from '../../src/store/runs'
import { AuditList } from '../../src/ui/parts/AuditList'
import { isMedium } from '../../src/ui/parts/media'
import { RunsContext } from '../../src/ui/parts/stores'
import { Past } from '../../src/ui/run/Past'
import { JobsTable } from '../../src/ui/runs/JobsTable'
import { Views } from '../../src/ui/runs/Views'
import { run, summary, week } from '../made'

class Silent {
  addEventListener(): void {}
  onopen = null
  onmessage = null
  onerror = null
  close(): void {}
}

let asked: [string, string, unknown][]
let answers: Record<string, unknown>
let runs: RunsStore

beforeEach(() => {
  asked = []
  answers = {}
  vi.stubGlobal('EventSource', Silent)
  vi.stubGlobal('fetch', (url: string, init: RequestInit = {}) => {
    const body = init.body ? JSON.parse(String(init.body)) : null
    asked.push([init.method ?? 'GET', url, body])
    const [path = ''] = url.split('?')
    return Promise.resolve(new Response(JSON.stringify(answers[path] ?? {})))
  })
  service.value = { scopes: ['admin'], scopes_in_all: ['admin'], scopes_in: {} } as unknown as ServiceInfo
  runs = openRuns()
})
afterEach(() => {
  cleanup()
  runs.close()
  chooseColumns(null)
  navigate('/', 'replace')
  service.value = null
  vi.unstubAllGlobals()
})

const seen = () => document.body.textContent ?? ''

function view(changes: Partial<View> = {}): View {
  return {
    view_id: 'v1',
    project: null,
    name: 'slow',
    query: 'bound=data',
    made_by: 'ada',
    changed_at: '2026-11-20T10:00:00Z',
    ...changes,
  }
}

test('a view leads to its list, and the one that is shown is marked', async () => {
  answers['/api/v1/views'] = [view(), view({ view_id: 'v2', name: 'all', query: '' })]
  navigate('/?bound=data', 'replace')
  render(<Views close={() => undefined} />)
  const link = await screen.findByRole('link', { name: 'slow' })
  expect(link.getAttribute('href')).toBe('/?bound=data')
  expect(link.getAttribute('aria-current')).toBe('true')
  expect(screen.getByRole('link', { name: 'all' }).getAttribute('aria-current')).toBe('false')
})

test('a list is saved with the columns that the browser remembers', async () => {
  answers['/api/v1/views'] = []
  chooseColumns(['wait', 'config:lr'])
  navigate('/?q=stall>20%&group=job', 'replace')
  render(<Views close={() => undefined} />)
  fireEvent.click(await screen.findByRole('button', { name: /Save this list/ }))
  fireEvent.input(screen.getByLabelText('Name'), { target: { value: ' mine ' } })
  fireEvent.click(screen.getByRole('button', { name: 'Save', hidden: true }))
  await waitFor(() => expect(asked.map(([method]) => method)).toContain('POST'))
  const [, , body] = asked.find(([method]) => method === 'POST') ?? []
  const { name, query } = body as { name: string; query: string }
  expect(name).toBe('mine')
  expect(Object.fromEntries(new URLSearchParams(query))).toEqual({
    q: 'stall>20%',
    group: 'job',
    columns: 'wait,config:lr',
  })
})

test('who may only read sees views, and changes none', async () => {
  service.value = { scopes: ['view'], scopes_in_all: ['view'], scopes_in: {} } as unknown as ServiceInfo
  answers['/api/v1/views'] = [view()]
  render(<Views close={() => undefined} />)
  await screen.findByRole('link', { name: 'slow' })
  expect(screen.queryByText('Delete')).toBeNull()
})

const line: JobLine = {
  job: 'vision/resnet50',
  project: 'vision',
  runs: 2,
  hours_lost: 12,
  gpu_hours_lost: 12,
  trend: [0.5, 0.1],
  newest: summary({ run_id: 'second', name: 'second' }),
}

test('jobs are lines that open to their runs', async () => {
  answers['/api/v1/jobs'] = { jobs: [line], next_cursor: null }
  const page = {
    runs: [summary({ run_id: 'first', name: 'first' })],
    next_cursor: null,
    week: week(),
    config: {},
  }
  answers['/api/v1/runs'] = page
  navigate('/?group=job&q=stall>5%', 'replace')
  render(
    <RunsContext.Provider value={runs}>
      <JobsTable />
    </RunsContext.Provider>,
  )
  fireEvent.click(await screen.findByRole('button', { name: 'Show the runs of second' }))
  expect((await screen.findByRole('link', { name: 'first' })).getAttribute('href')).toBe('/runs/first')
  const opened = asked.map(([, url]) => url).find(url => url.startsWith('/api/v1/runs?')) ?? ''
  const wanted = new URLSearchParams(opened.split('?')[1])
  expect([wanted.get('job'), wanted.get('project'), wanted.get('q')]).toEqual([
    'vision/resnet50',
    'vision',
    'stall>5%',
  ])
})

test('jobs on GPUs and others have a column for each, as their runs have', async () => {
  ;(isMedium as Signal<boolean>).value = false
  navigate('/?group=job', 'replace')
  const heads = async (gpuHours: readonly (number | null)[]) => {
    cleanup()
    const jobs = gpuHours.map((gpu_hours_lost, at) => ({ ...line, job: String(at), gpu_hours_lost }))
    answers['/api/v1/jobs'] = { jobs, next_cursor: null }
    render(
      <RunsContext.Provider value={runs}>
        <JobsTable />
      </RunsContext.Provider>,
    )
    await screen.findAllByRole('link', { name: 'second' })
    return [...document.querySelectorAll('th')]
      .map(head => head.textContent)
      .filter(head => /lost/.test(head))
  }
  expect(await heads([12, null])).toEqual(['Time lost ↓', 'GPU time lost'])
  expect(await heads([12, 3])).toEqual(['GPU time lost ↓'])
  expect(await heads([null])).toEqual(['Time lost ↓'])
})

function attempt(run_id: string, changes: Partial<HistoryRun> = {}): HistoryRun {
  const { status, bound, level, cause, user, name } = summary({ name: run_id })
  return {
    ...{ status, bound, level, cause, user, name, run_id },
    ...{ status_label: 'finished', bound_label: 'data-bound', level_label: 'bound', cause_label: null },
    data_stall_fraction: 0.4,
    started_at: '2026-11-20T10:00:00Z',
    archived_at: null,
    ended_at: null,
    steps: 10,
    steps_per_s: 2,
    samples_per_s: null,
    hours_lost: 1,
    gpu_hours_lost: null,
    changed: [],
    ...changes,
  }
}

test('the runs of a job are listed with what changed between them, the newest first', async () => {
  const changed = [
    { group: 'loader', name: 'num_workers', unit: 'setting', before: 0, after: 4, matters: true } as const,
  ]
  const tries = [attempt('first'), attempt('second', { data_stall_fraction: 0.1, changed })]
  answers['/api/v1/runs/second/history'] = { job: 'j', project: 'p', runs: tries }
  render(<Past run={run({ run_id: 'second' })} />)
  await waitFor(() => expect(seen()).toContain('num_workers 0 → 4'))
  const names = [...document.querySelectorAll('tbody th')].map(cell => cell.textContent)
  expect(names).toEqual(['second this run', 'first'])
  expect(screen.getByRole('img', { name: /^Wait of each run, from 40% to 10%/ })).toBeTruthy()
})

test('a run that is alone has no trend', async () => {
  answers['/api/v1/runs/second/history'] = { job: '', project: 'p', runs: [attempt('second')] }
  render(<Past run={run({ run_id: 'second' })} />)
  await waitFor(() => expect(asked.length).toBeGreaterThan(0))
  expect(document.querySelector('table')).toBeNull()
})

function entry(changes: Partial<AuditEntry>): AuditEntry {
  return {
    entry_id: String(Math.random()),
    at: '2026-11-20T10:00:00Z',
    by: 'ada',
    token_id: null,
    action: 'noted',
    project: 'vision',
    run_id: 'run-1',
    name: 'resnet',
    before: null,
    after: null,
    ...changes,
  }
}

test('a change says by whom, of what, before and after; markup in it is text', async () => {
  const entries = [
    entry({ action: 'tagged', before: { a: '1' }, after: {} }),
    entry({ before: '', after: '<img src=x>' }),
    entry({ action: 'view_deleted', run_id: null, name: 'slow', by: '' }),
    entry({ action: 'view_created', run_id: null, name: 'bound', after: 'q=stall%3E20%25&sort=-step_us' }),
  ]
  answers['/api/v1/audit'] = { entries, next_cursor: null }
  render(<AuditList />)
  await waitFor(() => expect(seen()).toContain('ada changed the tags of resnet'))
  expect(seen()).toContain('a=1 → empty')
  expect(seen()).toContain('empty → <img src=x>')
  expect(document.querySelector('img')).toBeNull()
  expect(seen()).toContain('somebody deleted the view slow')
  expect(seen()).toContain('saved the view boundq: stall>20%, sort: -step_us')
  // In one zone, whichever the browser's is.
  expect(document.querySelector('time')?.title).toBe('20 Nov 2026, 10:00:00 UTC')
})
