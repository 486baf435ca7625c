// @vitest-environment happy-dom
import { signal } from '@preact/signals'
import { afterEach, expect, test, vi } from 'vitest'
import type { BestAdvice, RunSummary } from '../../src/api/schema'
import { toCsv } from '../../src/csv'
import { navigate } from '../../src/router'
import { COLUMN_IDS, chooseColumns, chosen, configKeys } from '../../src/store/chosen'
import { tableOf } from '../../src/store/listing'
import type { RunsStore } from '../../src/store/runs'
import { COLUMNS, columnOf, fitting, kindsOf, NAME_PX, statusOf, TICK_PX } from '../../src/ui/runs/columns'
import { slicesOf } from '../../src/ui/runs/WeekHead'
import { summary } from '../made'

afterEach(() => chooseColumns(null))

test('the table has as many columns as there is room for, and never more', () => {
  for (const room of [641, 700, 1024, 1376, 1856]) {
    const taken = fitting(room).reduce((sum, id) => sum + columnOf(id).width, TICK_PX + NAME_PX)
    expect(taken).toBeLessThanOrEqual(room)
  }
  expect(fitting(700).slice(0, 2)).toEqual(['wait', 'verdict'])
  expect(fitting(10_000).length).toBeGreaterThan(fitting(1_376).length)
})

test('where some runs are on GPUs and others not, table and menu have a column for each', () => {
  const store = (gpus: readonly (number | null)[]) =>
    ({
      order: signal(gpus.map(String)),
      rows: new Map(gpus.map(each => [String(each), signal(summary({ gpus: each }))])),
    }) as unknown as RunsStore
  expect(kindsOf(store([2, null]))).toEqual({ isGpu: false, isMixed: true })
  expect(kindsOf(store([2, 4]))).toEqual({ isGpu: true, isMixed: false })
  expect(kindsOf(store([null]))).toEqual({ isGpu: false, isMixed: false })
  expect(kindsOf(store([]))).toEqual({ isGpu: false, isMixed: false })
})

test('chosen columns stand in the table’s order and are kept', () => {
  chooseColumns(['host', 'status'])
  expect(chosen.value).toEqual(['status', 'host'])
  expect(localStorage.getItem('underfed-columns')).toBe('status,host')
  chooseColumns(null)
  expect(localStorage.getItem('underfed-columns')).toBeNull()
})

test('every column can be chosen', () => {
  expect(COLUMNS.map(({ id }) => id)).toEqual(COLUMN_IDS)
})

const listed = (runs: readonly RunSummary[]) => ({ runs, config: {} })

test('as CSV, chosen values of the configuration are columns of their own', () => {
  const config = { 'run-1': { lr: 0.1, amp: true } }
  const [head, line] = toCsv(tableOf({ runs: [summary()], config }, ['lr', 'amp', 'net'])).split('\r\n')
  expect(head).toMatch(/,config:lr,config:amp,config:net$/)
  expect(line).toMatch(/,0\.1,true,$/)
})

test('columns of the configuration are kept and in the address, whatever their keys are', () => {
  chooseColumns(['config:opt,lr', 'wait', 'config:50%'])
  expect(chosen.value).toEqual(['wait', 'config:opt,lr', 'config:50%'])
  expect(configKeys.value).toEqual(['opt,lr', '50%'])
  const linked = new URLSearchParams(location.search).get('columns')
  expect(linked).toBe(localStorage.getItem('underfed-columns'))
  navigate(`/?columns=${encodeURIComponent('status,config:lr,nonsense')}`)
  expect(chosen.value).toEqual(['status', 'config:lr'])
  navigate('/')
  expect(chosen.value).toEqual(['wait', 'config:opt,lr', 'config:50%'])
  chooseColumns(null)
})

test('what was kept is there when the page is opened again', async () => {
  localStorage.setItem('underfed-columns', 'wait,config:lr')
  vi.resetModules()
  const { chosen } = await import('../../src/store/chosen')
  expect(chosen.value).toEqual(['wait', 'config:lr'])
})

test('as CSV, what was not measured is empty and a name that begins like a formula is text', () => {
  const csv = toCsv(
    tableOf(listed([summary({ name: '=HYPERLINK("x")', step_us: null, tags: { a: '', team: 'b' } })]), []),
  )
  const [head, line] = csv.split('\r\n')
  expect(head).toContain('data_stall_fraction,copy_fraction,hours_lost')
  expect(line).toContain(`"'=HYPERLINK(""x"")"`)
  expect(line).toContain(',a team=b,')
  expect(head).toContain('best_change,predicted_speedup,low,high,observed_speedup')
  expect(line).toContain(',num_workers,1.62,1.48,1.71,,,29415,')
})

test('as CSV, the gain is that of the run, and empty where none is promised', () => {
  const best = summary().best_advice as BestAdvice
  const ofRun = { run_speedup: 1.19, run_low: 1.15, run_high: 1.22 }
  const lines = toCsv(
    tableOf(
      listed([
        summary({ best_advice: { ...best, ...ofRun } }),
        summary({ best_advice: { ...best, is_promised: false } }),
      ]),
      [],
    ),
  ).split('\r\n')
  expect(lines[1]).toContain(',num_workers,1.19,1.15,1.22,')
  expect(lines[2]).toContain(',num_workers,,,,')
})

test('a list of runs on GPUs and others shows what each lost, and what GPUs did', () => {
  expect(fitting(10_000)).not.toContain('lostGpu')
  expect(fitting(1_376, true)).toEqual(expect.arrayContaining(['lost', 'lostGpu']))
})

test('small causes are listed together and chosen together; no hour is left out', () => {
  const causes = [
    'storage_wait',
    'cpu_limited',
    'no_workers',
    'slow_collate',
    'ipc_copy',
    'slow_rank',
  ] as const
  const slices = slicesOf([
    { cause: null, hours_lost: 50 },
    ...causes.map((cause, index) => ({ cause, hours_lost: 60 - index * 10 })),
  ])
  expect(slices.map(({ words }) => words).slice(-2)).toEqual(['other causes', 'no single cause'])
  expect(slices.at(-2)?.term).toBe('cause:ipc_copy,slow_rank')
  expect(slices.reduce((sum, { hours }) => sum + hours, 0)).toBe(260)
})

test('ended, out of reach and not known which are three words', () => {
  const ago = (minutes: number) => new Date(Date.now() - minutes * 60_000).toISOString()
  const lost = { status: 'lost', status_label: 'no signal' } as const
  expect(statusOf(summary({ status: 'finished', status_label: 'finished', last_seen_at: ago(999) }))).toBe(
    'finished',
  )
  expect(statusOf(summary({ ...lost, last_seen_at: ago(5) }))).toBe('no signal')
  expect(statusOf(summary({ ...lost, last_seen_at: ago(90) }))).toBe('end unknown')
})
