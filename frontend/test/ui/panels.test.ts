import { expect, test } from 'vitest'
import type { Run } from '../../src/api/names'
import { spread, timeTicks } from '../../src/charts/frame'
import { extent, loadTicks } from '../../src/charts/heatmap'
import { sparkPath } from '../../src/charts/spark'
import { lineColumns, type Spread, type StepColumns, stepColumns } from '../../src/store/columns'
import {
  disagreement,
  frameOf,
  heatmapOf,
  queuePanel,
  readout,
  spreadPanel,
  stepPanel,
} from '../../src/ui/run/panels'
import { rowWindow } from '../../src/ui/runs/rowWindow'
import { run, series, seriesPage, workersPage } from '../made'

const shown = (changes: Partial<Run> = {}) => ({ ...run(changes), shared: [], endsNow: true })
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
const page = seriesPage(
  series('step_us', [400_000, 410_000, 405_000]),
  series('data_wait_us', [150_000, 170_000, 160_000]),
  series('queue_depth', [3, 1, 0], { unit: 'count' }),
)
const steps = stepColumns(page) as StepColumns
const frame = frameOf(shown(), page, steps, true)

test('layers are stacked from the top: each holds itself and what lies below', () => {
  const [wait, copy, compute] = stepPanel(frame, steps).layers
  expect(wait?.values).toEqual([400_000, 410_000, 405_000])
  expect(copy?.values).toEqual(compute?.values)
  expect(compute?.values).toEqual([250_000, 240_000, 245_000])
})

test('a copy that was not measured has no name in the chart', () => {
  expect(stepPanel(frame, steps).layers.map(layer => layer.label)).toEqual(['data wait', null, 'compute'])
})

test('one slow first step does not flatten all the others, and is told', () => {
  const long = [5_000_000, ...Array(99).fill(400_000)]
  const columns = stepColumns(
    seriesPage(series('step_us', long), series('data_wait_us', long)),
  ) as StepColumns
  const panel = stepPanel(frame, columns)
  expect(panel.top).toBeLessThan(1_000_000)
  expect(panel.topLabel).toBe('highest 5 s')
  expect(stepPanel(frame, steps).topLabel).toBeNull()
})

test('the queue’s axis ends at what may be prefetched', () => {
  const panel = queuePanel(frame, lineColumns(page, 'queue_depth') as never)
  expect(panel.top).toBe(8)
  expect(panel.layers[0]?.label).toBe('0 now')
})

test('what stands at the end of a range is not said to be so now', () => {
  const past = frameOf({ ...shown(), endsNow: false }, page, steps, false)
  expect(queuePanel(past, lineColumns(page, 'queue_depth') as never).layers[0]?.label).toBe('0')
})

test('epochs of this rank and loader are marked, in order', () => {
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
  expect(frameOf(shown({ epochs }), page, steps, true).marks).toEqual([
    { atS: 0, label: 'epoch 0' },
    { atS: 1, label: 'val 0' },
    { atS: 2, label: 'epoch 1' },
  ])
})

test('a worker that died and others on the host are marked as what happened', () => {
  const death = { ...DEATH, worker: 2, end_us: 500_000 }
  const shared = {
    cause: 'cpu_limited',
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
    ...shown({ died_workers: [death, { ...death, worker: 3 }, { ...death, rank: 1 }] }),
    shared: [{ ...shared, runs: [...shared.runs] }],
  }
  expect(frameOf(happened, page, steps, true).marks).toEqual([
    { atS: 0.5, label: 'workers 2, 3 died', isEvent: true },
    // After the newest bucket began: at the right edge.
    { atS: 2, label: 'another job on gpu-03', isEvent: true },
  ])
})

test('percentiles are three lines, not a stack', () => {
  const spread = { p50: [4, 4, 4], p95: [6, 6, 6], p99: [9, 9, 9] }
  const columns = stepColumns(
    seriesPage(series('step_us', [4, 5, 4], spread), series('data_wait_us', [1, 1, 1])),
  ) as StepColumns
  const panel = spreadPanel(frame, columns, columns.spread as Spread)
  expect(panel.isOverlaid).toBe(true)
  expect(panel.layers.map(layer => [layer.label, layer.values[0]])).toEqual([
    ['p99', 9],
    ['p95', 6],
    ['median', 4],
  ])
})

test('GPU busy and device idle are said to disagree only where they cannot both be shares of one whole', () => {
  const columns = (idle: number) =>
    stepColumns(
      seriesPage(series('step_us', [100, 100, 100]), series('gpu_idle_us', [idle, idle, idle])),
    ) as StepColumns
  const util = { atS: [0, 1], mean: [0.9, 0.9], missing: null }
  expect(disagreement(util, columns(43))).toEqual([0.9, 0.43])
  expect(disagreement(util, columns(12))).toBeNull()
  expect(disagreement(null, columns(43))).toBeNull()
})

test('a whole run begins at its start, a range at its first bucket', () => {
  const late = seriesPage(series('step_us', [1, 1], { at_us: [7_000_000, 9_000_000] }))
  const columns = stepColumns(late) as StepColumns
  expect(frameOf(shown(), late, columns, true)).toMatchObject({ fromS: 0, toS: 9 })
  expect(frameOf(shown(), late, columns, false)).toMatchObject({ fromS: 7, toS: 9 })
})

test('the crosshair reads out what was measured and leaves out the rest', () => {
  const said = readout(1.2, { steps, queue: lineColumns(page, 'queue_depth'), util: null })
  expect(said).toBe('1 s · step 10 · data wait 170 ms · compute 240 ms · batches ready 1')
})

test('a loader without workers has no queue to draw', () => {
  const alone = shown()
  const settings = { ...alone.loaders[0]?.settings, num_workers: 0 }
  const loaders = alone.loaders.map(loader => ({ ...loader, settings }))
  expect(frameOf({ ...alone, loaders }, page, steps, true)).toMatchObject({
    prefetchCapacity: null,
  })
  expect(frame).toMatchObject({ prefetchCapacity: 8 })
})

test('a heat map names the newest median and the limit', () => {
  const heatmap = {
    at_us: [0, 1],
    end_us: 2,
    edges_us: [1_000, 2_000, 4_000],
    counts: [
      [9, 0],
      [0, 4],
    ],
  }
  const workers = workersPage({ limit_us: 1_500, heatmap })
  const map = heatmapOf(frame, workers)
  expect(map?.medianLabel).toBe('2.8 ms now')
  expect(map?.limitLabel).toBe('1.5 ms limit')
  expect(heatmapOf(frame, { ...workers, heatmap: null })).toBeNull()
})

test('time ticks are round and have room', () => {
  expect(timeTicks(0, 60, 400)).toEqual([0, 20, 40, 60])
  expect(timeTicks(7, 11_160, 800).map(at => at / 1_800)).toEqual([1, 2, 3, 4, 5, 6])
})

test('load-time ticks keep apart', () => {
  const y = (us: number) => -60 * Math.log10(us)
  expect(loadTicks([1_000, 100_000], y)).toEqual([1_000, 5_000, 20_000, 100_000])
})

test('the load scale holds a near limit, and never shrinks to one bin', () => {
  const [low, high] = extent({ edgesUs: [50_000, 52_000], limitUs: null })
  expect(high / low).toBeCloseTo(4)
  expect(extent({ edgesUs: [10_000, 100_000], limitUs: 150_000 })[1]).toBeGreaterThan(150_000)
  expect(extent({ edgesUs: [10_000, 100_000], limitUs: 900_000 })).toEqual([10_000, 100_000])
})

test('labels are moved apart in their order', () => {
  expect(spread([10, 12, 50], 15)).toEqual([10, 25, 50])
  expect(spread([12, 10], 15)).toEqual([25, 10])
})

test('a sparkline breaks where nothing was measured', () => {
  const { line, area } = sparkPath([0, 1, null, 0.5], 90, 20)
  expect(line).toBe('M0,20L30,0M90,10')
  expect(area.match(/Z/g)).toHaveLength(2)
})

test('only rows near the screen are drawn', () => {
  expect(rowWindow(1_000, 39, 300, 900)).toEqual({ from: 0, to: 24 })
  const deep = rowWindow(1_000, 39, -10_000, 900)
  expect(deep.to - deep.from).toBe(40)
  expect(deep.from).toBe(248)
  expect(rowWindow(10, 39, 0, 900)).toEqual({ from: 0, to: 10 })
  expect(rowWindow(3, 39, -10_000, 900)).toEqual({ from: 3, to: 3 })
})
