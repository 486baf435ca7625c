// @vitest-environment node
import { describe, expect, test } from 'vitest'
import {
  bucketAt,
  evenly,
  held,
  heldSamples,
  highest,
  last,
  mean,
  quantile,
  spans,
  worthDrawing,
} from '../../src/charts/columns'

test('the bucket at an instant', () => {
  expect([-1, 0, 0.9, 1, 5].map(at => bucketAt([0, 1, 2], at))).toEqual([null, 0, 0, 1, 2])
})

test('the newest value skips what is not measured yet', () => {
  expect(last([1, 2, null])).toBe(2)
  expect(last([null])).toBeNull()
})

test('what was not measured is no 0 in any figure', () => {
  expect([highest([null, -3, -1]), mean([null, 2, 4]), quantile([null, 5], 0.95)]).toEqual([-1, 3, 5])
  expect([highest([null]), mean([])]).toEqual([null, null])
})

test('a million values have a highest one', () => {
  expect(highest(Array.from({ length: 1_000_000 }, (_, index) => index))).toBe(999_999)
})

test('a thinned table keeps both ends', () => {
  expect(evenly(3, 24)).toEqual([0, 1, 2])
  const rows = evenly(1_000, 24)
  expect(rows).toHaveLength(24)
  expect([rows[0], rows.at(-1)]).toEqual([0, 999])
})

test('stretches of what was measured', () => {
  expect(spans([1, 2, null, 3, null, null, 0])).toEqual([
    [0, 2],
    [3, 4],
    [6, 7],
  ])
  expect(spans([null, null])).toEqual([])
})

test('of many values in one pixel the first, the lowest, the highest and the last are drawn', () => {
  const values = [5, 9, 1, 5, 7, 8]
  expect(worthDrawing(values, 0, 6, index => (index < 5 ? 0.1 * index : 1))).toEqual([0, 1, 2, 4, 5])
  expect(worthDrawing(values, 0, 6, index => index)).toEqual([0, 1, 2, 3, 4, 5])
  expect(worthDrawing(values, 2, 2, index => index)).toEqual([])
})

describe('values that hold for a time', () => {
  test('each until the next, the last until the end, and none in a gap', () => {
    const gaps = [{ from: 1.5, to: 2.5 }]
    expect(held([0, 1, 3], 4, gaps)).toEqual({
      at: [0, 1, 2.5, 3],
      until: [1, 1.5, 3, 4],
      index: [0, 1, 1, 2],
    })
    expect(held([0, 1], 2, [])).toEqual({ at: [0, 1], until: [1, 2], index: [0, 1] })
  })

  test('one that lies in a gap as a whole is not drawn', () => {
    expect(held([0, 1, 2], 3, [{ from: 0.9, to: 2 }]).index).toEqual([0, 2])
  })

  test('samples break where some are missing', () => {
    expect(heldSamples([0, 1, 2, 12, 13]).until).toEqual([1, 2, 3, 13, 14])
  })
})
