import { expect, test } from 'vitest'
import {
  bucketAt,
  last,
  lineColumns,
  newestFrom,
  stepAt,
  stepColumns,
  thinned,
} from '../../src/store/columns'
import { series, seriesPage } from '../made'

test('a step is data wait, copy and the rest', () => {
  const columns = stepColumns(
    seriesPage(
      series('step_us', [400, 500]),
      series('data_wait_us', [150, 250]),
      series('h2d_exposed_us', [10, 10]),
    ),
  )
  expect(columns?.compute).toEqual([240, 240])
  expect(columns?.copy).toEqual([10, 10])
  expect(columns?.stepsPerBucket).toBe(10)
})

test('a copy that was not measured is no copy of zero', () => {
  const page = seriesPage(
    series('step_us', [400]),
    series('data_wait_us', [150]),
    series('h2d_exposed_us', [], { missing: 'no CUDA device in use' }),
  )
  expect(stepColumns(page)?.copy).toBeNull()
  expect(stepColumns(page)?.compute).toEqual([250])
})

test('a bucket without a measured wait has no compute either', () => {
  const page = seriesPage(series('step_us', [400, 500]), series('data_wait_us', [150, null]))
  expect(stepColumns(page)?.compute).toEqual([250, null])
})

test('series with other buckets meet by their instants', () => {
  const wait = series('data_wait_us', [200], { at_us: [1_000_000], first_index: [10], count: [10] })
  expect(stepColumns(seriesPage(series('step_us', [400, 500]), wait))?.wait).toEqual([null, 200])
})

test('a run without steps has no columns', () => {
  expect(stepColumns(seriesPage(series('step_us', [])))).toBeNull()
  expect(stepColumns(seriesPage())).toBeNull()
})

test('a missing line keeps its reason', () => {
  const page = seriesPage(series('gpu_util_fraction', [], { missing: 'no NVIDIA driver' }))
  expect(lineColumns(page, 'gpu_util_fraction')?.missing).toBe('no NVIDIA driver')
  expect(lineColumns(page, 'queue_depth')).toBeNull()
})

test('an instant becomes the step that was under way', () => {
  const columns = stepColumns(seriesPage(series('step_us', [1, 1, 1]), series('data_wait_us', [0, 0, 0])))
  if (!columns) throw new Error('no columns')
  expect([-1, 0, 0.55, 1, 9].map(at => stepAt(columns, at))).toEqual([0, 0, 5, 10, 20])
})

test('the newest minutes are found in the whole run after a zoom elsewhere', () => {
  const whole = stepColumns(seriesPage(series('step_us', Array(100).fill(1))))
  const zoomed = stepColumns(seriesPage(series('step_us', [1, 1, 1])))
  expect(newestFrom(whole, zoomed, 9)).toBe(900)
  expect(newestFrom(null, null, 9)).toBeNull()
})

test('the bucket at an instant', () => {
  expect([-1, 0, 0.9, 1, 5].map(at => bucketAt([0, 1, 2], at))).toEqual([null, 0, 0, 1, 2])
})

test('the newest value skips what is not measured yet', () => {
  expect(last([1, 2, null])).toBe(2)
  expect(last([null])).toBeNull()
})

test('a thinned table keeps both ends', () => {
  expect(thinned(3, 24)).toEqual([0, 1, 2])
  const rows = thinned(1_000, 24)
  expect(rows).toHaveLength(24)
  expect([rows[0], rows.at(-1)]).toEqual([0, 999])
})
