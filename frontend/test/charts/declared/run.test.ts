// @vitest-environment node
import { beforeAll, describe, expect, test } from 'vitest'
import type { Series, SeriesPage, WorkersPage } from '../../../src/api/schema'
import { type ChartSet, readoutAt, type ShownChart } from '../../../src/charts/declared/declaration'
import { RUN_CHARTS, runCharts, runMetrics, type ShownRun } from '../../../src/charts/declared/run'
import { run, series, seriesPage, workersPage } from '../../made'
import { record, stubBrowser } from '../recording'

beforeAll(stubBrowser)

const WIDTH = 1_000 + 54 + 84
const STEP = series('step_us', [400_000, 410_000, 405_000])
const WAIT = series('data_wait_us', [150_000, 170_000, 160_000])
const QUEUE = series('queue_depth', [3, 1, 0], { unit: 'count' })
const UTIL = series('gpu_util_fraction', [0.9, 0.9, 0.9], { unit: 'fraction' })
const idle = (us: number) => series('gpu_idle_us', [us, us, us])
const PAGE = seriesPage(STEP, WAIT, QUEUE)

function shown(page: SeriesPage = PAGE, changes: Partial<ShownRun> = {}): ShownRun {
  return { run: run(), page, marks: [], isWhole: true, endsNow: true, hasOtherWaits: false, ...changes }
}

function set(from: ShownRun, workers: WorkersPage | null = null): ChartSet {
  const found = runCharts(from, workers)
  if (!found) throw new Error('no step')
  return found
}

const charts = (...all: Series[]) => set(shown(seriesPage(...all))).charts

function titled(title: string, among: readonly ShownChart[]): ShownChart {
  const found = among.find(chart => chart.title?.startsWith(title))
  if (!found) throw new Error(`${title} is none of ${among.map(chart => chart.title).join(', ')}`)
  return found
}

function draw({ drawn }: ShownChart) {
  if (!drawn) throw new Error('nothing is drawn')
  return { recording: record(drawn, WIDTH), scale: drawn.scale(WIDTH) }
}

const values = ({ quantities }: ShownChart, name: string) =>
  quantities.find(quantity => quantity.name === name)?.values

test('each metric is asked for once', () => {
  const asked = runMetrics(2)
  expect(new Set(asked).size).toBe(asked.length)
  expect(runMetrics(1)).toEqual(asked.filter(name => name !== 'others_wait_us'))
})

test('a metric that is declared is asked for, drawn, read out, and named for table and file', () => {
  const declared = RUN_CHARTS.flatMap(chart => chart.lines.map(line => line.metric))
  expect(declared.filter(metric => !runMetrics(2).includes(metric))).toEqual([])
  const queue = titled('Batches ready', charts(STEP, WAIT, QUEUE))
  expect(draw(queue).recording.strokes('ink')).toHaveLength(1)
  expect(queue.quantities).toMatchObject([{ name: 'queue_depth', label: 'batches ready', unit: 'count' }])
  expect(queue.label).toBe('Batches ready when the GPU asks for one: batches ready 0')
})

describe('where the step time goes', () => {
  const [step] = charts(STEP, WAIT) as [ShownChart]

  test('a step is data wait, copy and the rest', () => {
    const copy = series('h2d_exposed_us', [10_000, 10_000, 10_000])
    const [copied] = charts(STEP, WAIT, copy) as [ShownChart]
    expect(values(copied, 'compute_us')).toEqual([240_000, 230_000, 235_000])
    expect(values(copied, 'h2d_exposed_us')).toEqual([10_000, 10_000, 10_000])
    expect(draw(copied).recording.texts()).toEqual(expect.arrayContaining(['data wait', 'copy', 'compute']))
  })

  test('its parts are stacked: the upper edge of the wait is the whole step', () => {
    const { recording, scale } = draw(step)
    const ys = (colour: string) => recording.strokes(colour)[0]?.points.map(([, y]) => y)
    const stepped = (values: readonly number[]) => values.flatMap(value => [scale.y(value), scale.y(value)])
    expect(ys('wait')).toEqual(stepped([400_000, 410_000, 405_000]))
    expect(ys('compute')).toEqual(stepped([250_000, 240_000, 245_000]))
  })

  test('a copy that was not measured is no copy of zero, and has no name', () => {
    const none = series('h2d_exposed_us', [], { missing: 'no CUDA device in use' })
    const [chart] = charts(STEP, WAIT, none) as [ShownChart]
    expect(values(chart, 'h2d_exposed_us')).toEqual([null, null, null])
    expect(values(chart, 'compute_us')).toEqual([250_000, 240_000, 245_000])
    expect(draw(chart).recording.texts()).not.toContain('copy')
    expect(chart.missing).toBeNull()
  })

  test('a bucket without a measured wait has no compute either, and nothing is drawn there', () => {
    const gap = series('data_wait_us', [150_000, 150_000, null, 150_000, 150_000])
    const [chart] = charts(series('step_us', Array(5).fill(400_000)), gap) as [ShownChart]
    expect(values(chart, 'compute_us')?.[2]).toBeNull()
    for (const colour of ['wait', 'compute']) expect(draw(chart).recording.strokes(colour)).toHaveLength(2)
  })

  test('series with other buckets meet by their instants', () => {
    const late = series('data_wait_us', [200_000], { at_us: [1_000_000], first_index: [10], count: [10] })
    const [chart] = charts(series('step_us', [400_000, 500_000]), late) as [ShownChart]
    expect(values(chart, 'data_wait_us')).toEqual([null, 200_000])
    expect(values(chart, 'compute_us')).toEqual([null, 300_000])
  })

  test('without any wait measured the reason stands in place of a stack that is all wait', () => {
    const [chart] = charts(STEP, series('data_wait_us', [], { missing: 'no loader was hooked' })) as [
      ShownChart,
    ]
    expect([chart.drawn, chart.missing]).toEqual([null, 'no loader was hooked'])
  })

  test('one slow first step does not flatten all the others, and is labelled', () => {
    const long = [5_000_000, ...Array(99).fill(400_000)]
    const [chart] = charts(series('step_us', long), series('data_wait_us', long)) as [ShownChart]
    const { recording, scale } = draw(chart)
    expect(scale.y(1_000_000)).toBeLessThan(scale.top)
    expect(recording.texts()).toContain('highest 5 s')
    expect(draw(step).recording.texts().join()).not.toContain('highest')
  })

  test('what is left beside waits for other loaders is not called compute', () => {
    const [chart] = set(shown(PAGE, { hasOtherWaits: true })).charts as [ShownChart]
    expect(values(chart, 'rest_us')).toEqual([250_000, 240_000, 245_000])
    expect(values(chart, 'compute_us')).toBeUndefined()
    expect(chart.label).toContain('rest of the step 245 ms')
    expect(draw(chart).recording.texts()).toEqual(expect.arrayContaining(['data wait', 'the rest']))
  })

  test('waits for other loaders are a part of their own where they are known step by step', () => {
    const others = series('others_wait_us', [50_000, 40_000, 45_000])
    const from = shown(seriesPage(STEP, WAIT, others), { hasOtherWaits: true })
    const [chart] = set(from).charts as [ShownChart]
    expect(values(chart, 'others_wait_us')).toEqual([50_000, 40_000, 45_000])
    expect(values(chart, 'compute_us')).toEqual([200_000, 200_000, 200_000])
    expect(values(chart, 'rest_us')).toBeUndefined()
    expect(chart.label).toContain('waiting for other loaders 45 ms')
    expect(draw(chart).recording.texts()).toEqual(expect.arrayContaining(['data wait', 'others', 'compute']))
  })

  test('percentiles are three lines of the whole step, not a stack', () => {
    const spread = { p50: [4, 4, 4], p95: [6, 6, 6], p99: [9, 9, 9] }
    const [chart, ...others] = charts(series('step_us', [4, 5, 4], spread), WAIT) as [ShownChart]
    const { recording, scale } = draw(chart)
    const ends = ['ink', 'compute', 'ink-3'].map(
      colour => recording.strokes(colour).find(({ points }) => points.length === 6)?.points[0]?.[1],
    )
    expect(ends).toEqual([4, 6, 9].map(scale.y))
    expect(recording.texts()).toEqual(expect.arrayContaining(['median', 'p95', 'p99']))
    expect(chart.quantities.map(({ name }) => name)).toEqual(['p50_step_us', 'p95_step_us', 'p99_step_us'])
    expect(others.filter(({ title }) => !title)).toEqual([])
  })
})

describe('batches that are ready', () => {
  const queue = (changes: Partial<ShownRun> = {}) => titled('Batches ready', set(shown(PAGE, changes)).charts)

  test('the axis ends at what may be prefetched', () => {
    const { recording, scale } = draw(queue())
    expect(scale.y(8)).toBe(scale.top)
    expect(recording.texts()).toEqual(['0', '4', '8', '0 now'])
    expect(queue().detail).toBe('of 8 prefetched')
  })

  test('what stands at the end of a range is not said to be so now', () => {
    expect(
      draw(queue({ endsNow: false }))
        .recording.texts()
        .at(-1),
    ).toBe('0 at end')
  })

  test('a loader without workers has nothing prefetched, and no chart of it', () => {
    const alone = run()
    const settings = { ...alone.loaders[0]?.settings, num_workers: 0 }
    const loaders = alone.loaders.map(loader => ({ ...loader, settings }))
    const titles = set(shown(PAGE, { run: { ...alone, loaders } })).charts.map(({ title }) => title)
    expect(titles.filter(title => title?.startsWith('Batches ready'))).toEqual([])
  })
})

describe('how busy the GPU is', () => {
  test('a run without one has no chart of it', () => {
    const titles = set(shown(PAGE, { run: { ...run(), gpus: 0 } })).charts.map(({ title }) => title)
    expect(titles.filter(title => title?.startsWith('GPU busy'))).toEqual([])
  })

  const gpu = (...all: Series[]) => titled('GPU busy', charts(STEP, WAIT, ...all))

  test('idle by the device’s clock is a dashed line beside it', () => {
    const { recording, scale } = draw(gpu(UTIL, idle(100_000)))
    expect(recording.strokes('compute')[0]?.points[0]?.[1]).toBe(scale.y(0.9))
    expect(recording.strokes('wait')[0]).toMatchObject({ dash: [5, 3] })
    expect(recording.strokes('wait')[0]?.points[0]?.[1]).toBeCloseTo(scale.y(0.25))
    expect(recording.texts()).toEqual(['0', '50', '100%', '90% now', '25% idle'])
    expect(gpu(UTIL, idle(100_000)).title).toBe('GPU busy, and idle without data')
  })

  test('without that clock nothing is said of it', () => {
    expect(gpu(UTIL)).toMatchObject({ title: 'GPU busy', missing: null, explanation: null })
  })

  test('what was not measured gives its reason and no line', () => {
    const none = gpu(series('gpu_util_fraction', [], { unit: 'fraction', missing: 'no NVIDIA driver' }))
    expect(none).toMatchObject({ drawn: null, missing: 'no NVIDIA driver', detail: '' })
  })

  test('both are said to disagree only where they cannot both be shares of one whole', () => {
    expect(gpu(UTIL, idle(174_000)).explanation?.text).toContain('NVML reads 90% busy')
    expect(gpu(UTIL, idle(48_000)).explanation).toBeNull()
  })
})

test('a run without steps has no charts', () => {
  expect(runCharts(shown(seriesPage(series('step_us', []))), null)).toBeNull()
  expect(runCharts(shown(seriesPage()), null)).toBeNull()
})

test('a whole run begins at its start, a range at its first bucket', () => {
  const late = seriesPage(series('step_us', [1, 1], { at_us: [7_000_000, 9_000_000] }), WAIT)
  const ends = (isWhole: boolean) => {
    const [chart] = set(shown(late, { isWhole })).charts as [ShownChart]
    const queue = titled('Batches', set(shown(seriesPage(...late.series, QUEUE), { isWhole })).charts)
    const { scale } = draw(queue)
    return [chart.quantities.length, Math.round(scale.at(scale.left) ?? -1), scale.at(scale.right)]
  }
  expect(ends(true)).toEqual([5, 0, 9])
  expect(ends(false)).toEqual([5, 7, 9])
})

test('what happened after the newest bucket began is marked at the right edge', () => {
  const marks = [{ at: 5, label: 'another job on gpu-03', isEvent: true }]
  const [step] = set(shown(PAGE, { marks })).charts as [ShownChart]
  const { recording, scale } = draw(step)
  expect(recording.strokes('ink-2')[0]?.points[0]?.[0]).toBe(scale.right)
})

test('the crosshair reads out what was measured and leaves out the rest', () => {
  expect(readoutAt(set(shown()), 1.2)).toBe(
    '1 s · step 10 · data wait 170 ms · compute 240 ms · whole step 410 ms · batches ready 1',
  )
})

describe('load times', () => {
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

  test('are a heat map that names the median of all that is drawn and the limit', () => {
    const chart = titled('Time a worker', set(shown(), workers).charts)
    expect(draw(chart).recording.texts()).toEqual(expect.arrayContaining(['median', '1.5 ms limit']))
    expect(chart.label).toBe('Heat map of load time per batch: median about 1.4 ms, limit 1.5 ms')
  })

  test('are no chart where no batch was loaded', () => {
    for (const none of [null, { ...heatmap, counts: [] }])
      expect(set(shown(), { ...workers, heatmap: none }).charts).toHaveLength(set(shown()).charts.length)
  })
})
