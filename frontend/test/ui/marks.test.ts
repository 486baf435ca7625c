import { expect, test } from 'vitest'
import type { SeriesPage } from '../../src/api/schema'
import { marksOf } from '../../src/ui/run/marks'
import { run, series, seriesPage, trial } from '../made'

const DEATH = {
  rank: 0,
  loader: 'train',
  worker: 0,
  iterator_index: 0,
  epoch_index: null,
  pid: null,
  start_us: null,
  end_us: null,
  ended: 'died',
} as const
const page = seriesPage(series('step_us', [400_000, 410_000, 405_000]))

test('epochs of this rank and loader are marked, in order; a pass over another one is no epoch', () => {
  const epoch = {
    iterator_us: null,
    startup_us: null,
    sampler_us: null,
    first_step_index: 0,
    steps: null,
    end_us: null,
    ended: null,
  }
  const epochs = [
    { ...epoch, rank: 0, loader: 'train', epoch_index: 1, start_us: 2_000_000 },
    { ...epoch, rank: 0, loader: 'train', epoch_index: 0, start_us: 0 },
    { ...epoch, rank: 1, loader: 'train', epoch_index: 0, start_us: 0 },
    { ...epoch, rank: 0, loader: 'val', epoch_index: 0, start_us: 1_000_000 },
  ]
  expect(marksOf({ ...run({ epochs }), shared: [], trials: [] }, page)).toEqual([
    { at: 0, label: 'epoch 0' },
    { at: 2, label: 'epoch 1' },
  ])
})

test('what comes before the first batch is a band, where there is enough of it to be seen', () => {
  const late = series('step_us', [1, 1], { at_us: [8_000_000, 9_000_000] })
  const marksAt = (pauses: SeriesPage['pauses'], end_us: number) =>
    marksOf({ ...run(), shared: [], trials: [] }, { ...seriesPage(late), pauses, end_us })
  expect(marksAt([], 20_000_000)).toEqual([{ at: 0, until: 8, label: 'before the first batch' }])
  const pause = { start_us: 2_000_000, end_us: 8_000_000, label: 'validation', written_bytes: null }
  expect(marksAt([pause] as SeriesPage['pauses'], 20_000_000)[0]).toMatchObject({ at: 0, until: 2 })
  expect(marksAt([], 800_000_000)).toEqual([])
  const zoomed = { ...series('step_us', [1, 1], { at_us: [8_000_000, 9_000_000] }), first_index: [700, 701] }
  expect(marksOf({ ...run(), shared: [], trials: [] }, seriesPage(zoomed))).toEqual([])
})

test('a worker that died and others on the host are marked as what happened', () => {
  const death = { ...DEATH, worker: 2, end_us: 500_000 }
  const shared = {
    cause: 'cpu_limited',
    cause_label: 'CPU saturated',
    kind: 'host',
    place: 'gpu-03',
    sentence: '',
    runs: [
      { run_id: 'run-1', name: '', hours_lost: 1 },
      { run_id: 'other', name: '', hours_lost: 1 },
    ],
    hours_lost: 2,
    started_at: '2026-11-21T10:00:05Z',
    ended_at: '2026-11-21T10:01:00Z',
  } as const
  const happened = {
    ...run({ died_workers: [death, { ...death, worker: 3 }, { ...death, rank: 1 }] }),
    shared: [{ ...shared, runs: [...shared.runs] }],
    trials: [],
  }
  expect(marksOf(happened, page)).toEqual([
    { at: 0.5, label: 'workers 2, 3 died', isEvent: true },
    { at: 5, label: 'another job on gpu-03', isEvent: true },
  ])
})

test('where single steps were deleted is marked at the first bucket after them', () => {
  const coarse = series('step_us', [1, 1, 1], { given_up_before: 15 })
  expect(marksOf({ ...run(), shared: [], trials: [] }, seriesPage(coarse))).toEqual([
    { at: 2, label: 'single steps deleted before', isEvent: true },
  ])
})

test('pauses are named with how long they lasted, and what was written', () => {
  const pauses = [
    { kind: 'checkpoint', label: 'checkpoint', start_us: 5e6, end_us: 6.9e6, written_bytes: 8 << 20 },
    { kind: 'validation', label: 'validation', loader: 'val', start_us: 2e6, end_us: 3e6 },
  ] as const
  expect(
    marksOf({ ...run({ epochs: [] }), shared: [], trials: [] }, { ...page, pauses: [...pauses] }),
  ).toEqual([
    { at: 2, until: 3, label: 'validation', detail: '1 s' },
    { at: 5, until: 6.9, label: 'checkpoint', detail: '1.9 s, 8 MiB written' },
  ])
})

test('a search is a band from its first other setting on, with a line where each took over and an event for what was kept', () => {
  const block = (at: number) => ({
    first_step_index: 0,
    steps: 20,
    start_us: at * 1e6,
    end_us: (at + 1) * 1e6,
  })
  const trials = [
    trial({ number: 0, settings: { num_workers: 0, pin_memory: false }, blocks: [block(2), block(4)] }),
    trial({ number: 1, settings: { num_workers: 3, pin_memory: false }, blocks: [block(3)], kept: true }),
  ]
  expect(marksOf({ ...run({ epochs: [] }), shared: [], trials }, page)).toEqual([
    { at: 3, until: 5, label: 'trials' },
    { at: 3, label: 'num_workers=3' },
    { at: 4, label: 'num_workers=0' },
    { at: 5, label: 'kept num_workers=3', isEvent: true },
  ])
})

test('an epoch after a switch has the number that the program gives it', () => {
  const started = {
    iterator_us: null,
    startup_us: null,
    sampler_us: null,
    first_step_index: 0,
    steps: null,
    end_us: null,
  }
  const epoch = {
    ...started,
    rank: 0,
    loader: 'train',
    ended: null,
    epoch_index: 6,
    program_epoch: 1,
    start_us: 0,
  }
  expect(marksOf({ ...run({ epochs: [epoch] }), shared: [], trials: [] }, page)).toEqual([
    { at: 0, label: 'epoch 1' },
  ])
})
