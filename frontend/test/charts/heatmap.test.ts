// @vitest-environment node
import { beforeAll, expect, test } from 'vitest'
import { timeAxis } from '../../src/charts/axes'
import { held } from '../../src/charts/columns'
import { extent, type Heatmap, heatmap, loadTicks } from '../../src/charts/heatmap'
import { record, stubBrowser } from './recording'

beforeAll(stubBrowser)

/** Two columns of 500 pixels; bins of a decade each, 48 pixels high, from 154 upwards to 10. */
const WIDTH = 1_000 + 54 + 100
const MAP: Heatmap = {
  across: timeAxis(0, 10, 'start'),
  columns: { at: [0, 5], until: [5, 10], index: [0, 1] },
  edgesUs: [1_000, 10_000, 100_000, 1_000_000],
  counts: [
    [4, 0, 0],
    [0, 0, 16],
  ],
  limitUs: 10_000,
  limitLabel: '10 ms limit',
  medianUs: 316_228,
}
const draw = (changes: Partial<Heatmap> = {}) => record(heatmap({ ...MAP, ...changes }), WIDTH)

test('a cell lies at its time and load time, darker with more batches; empty ones are not drawn', () => {
  const [low, high, ...others] = draw().of('rect', 'heat')
  expect(others).toEqual([])
  expect(low?.points.flat().map(Math.round)).toEqual([54, 94, 554, 136])
  expect(high?.points.flat().map(Math.round)).toEqual([554, 10, 1_054, 52])
  expect(high?.alpha).toBeCloseTo(1)
  expect(low?.alpha).toBeCloseTo(0.06 + 0.94 * 0.5)
})

test('the limit is a dashed line at its load time, over the whole width, and named with the median', () => {
  const drawn = draw()
  const [limit] = drawn.strokes('wait')
  expect(limit).toMatchObject({ dash: [5, 3] })
  expect(limit?.points.flat().map(Math.round)).toEqual([54, 94, 1_054, 94])
  expect(drawn.textNamed('10 ms limit').points[0]?.[1]).toBeCloseTo(94 + 4)
  expect(drawn.textNamed('median').points[0]?.[1]).toBeCloseTo(31 + 4, 0)
})

test('without a limit, or with one far away, there is no line and no name', () => {
  for (const limitUs of [null, 1e9, 1]) {
    const drawn = draw({ limitUs })
    expect(drawn.strokes('wait')).toEqual([])
    expect(drawn.texts()).not.toContain('10 ms limit')
  }
})

test('without batches there are axes only', () => {
  for (const counts of [[], [[0, 0, 0]]]) {
    const drawn = draw({ counts, medianUs: null })
    expect(drawn.of('rect')).toEqual([])
    expect(drawn.texts()).toContain('start')
  }
})

test('one batch in one bin still has a scale', () => {
  const columns = { at: [0], until: [10], index: [0] }
  const drawn = draw({ edgesUs: [50_000, 52_000], counts: [[1]], columns, limitUs: null, medianUs: null })
  const [[left, top] = [0, 0], [right, bottom] = [0, 0]] = drawn.of('rect', 'heat')[0]?.points ?? []
  expect([left, right]).toEqual([54, 1_054])
  expect(bottom - top).toBeGreaterThan(1)
  expect(bottom - top).toBeLessThan(20)
})

test('columns outside the stretch that is shown are cut at its edges', () => {
  const drawn = draw({ across: timeAxis(4, 8, 'start') }).of('rect', 'heat')
  expect(drawn.map(({ points }) => points.map(([x]) => x))).toEqual([
    [54, 304],
    [304, 1_054],
  ])
})

test('one batch is still seen beside a million in another cell', () => {
  const [one, million] = draw({
    counts: [
      [1, 0, 0],
      [1_000_000, 0, 0],
    ],
  }).of('rect', 'heat')
  expect([one?.alpha, million?.alpha]).toEqual([expect.closeTo(0.06, 2), expect.closeTo(1)])
})

test('the most that the service sends, however many batches there were, is one rectangle a cell', () => {
  const counts = Array.from({ length: 120 }, () => Array(26).fill(1_000_000 / (120 * 26)))
  const edgesUs = Array.from({ length: 27 }, (_, bin) => 1_000 * 1.3 ** bin)
  const at = Array.from({ length: 120 }, (_, column) => column / 12)
  const columns = held(at, 10, [])
  expect(draw({ counts, edgesUs, columns }).of('rect', 'heat')).toHaveLength(120 * 26)
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
