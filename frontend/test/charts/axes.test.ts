import { expect, test } from 'vitest'
import { scaleOf, valueTicks } from '../../src/charts/axes'
import { spread } from '../../src/charts/frame'
import { spans } from '../../src/charts/time'

test('value ticks are round, begin at 0 and keep their distance', () => {
  expect(valueTicks(412_000, 226, 34)).toEqual([0, 100_000, 200_000, 300_000, 400_000])
  expect(valueTicks(1, 68, 22)).toEqual([0, 0.5, 1])
  for (const top of [0.3, 7, 999, 1_234_567]) {
    const ticks = valueTicks(top, 200, 30)
    expect(ticks.length).toBeGreaterThan(1)
    expect(ticks.at(-1)).toBeLessThanOrEqual(top * (1 + 1e-9))
    expect(((ticks[1] ?? 0) / top) * 200).toBeGreaterThanOrEqual(30)
  }
})

test('a place in the chart and its instant are one', () => {
  const scale = scaleOf({ fromS: 60, toS: 120 }, 800, { left: 50, right: 90 }, [20, 220], value => value / 10)
  expect(scale.x(60)).toBe(50)
  expect(scale.x(120)).toBe(710)
  expect(scale.atS(scale.x(75))).toBeCloseTo(75)
  expect(scale.atS(49)).toBeNull()
  expect(scale.y(0)).toBe(220)
  expect(scale.y(10)).toBe(20)
})

test('what was not measured is not drawn across', () => {
  expect(spans([1, 2, null, 3, null, null, 0])).toEqual([
    [0, 2],
    [3, 4],
    [6, 7],
  ])
  expect(spans([null, null])).toEqual([])
})

test('labels keep apart, in order, and above the edge', () => {
  expect(spread([10, 12, 40], 15)).toEqual([10, 25, 40])
  expect(spread([68, 70], 15, 74)).toEqual([59, 74])
  expect(spread([70, 68, 20], 15, 74)).toEqual([74, 59, 20])
})
