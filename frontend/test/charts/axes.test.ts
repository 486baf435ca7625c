// @vitest-environment node
import { beforeAll, expect, test } from 'vitest'
import { countAxis, drawAxis, scaleOf, timeAxis, timeTicks, valueTicks } from '../../src/charts/axes'
import { spread } from '../../src/charts/labels'
import { CHARACTER, Recording, stubBrowser } from './recording'

beforeAll(stubBrowser)

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

test('a place in the chart and its position are one', () => {
  const scale = scaleOf({ from: 60, to: 120 }, 800, { left: 50, right: 90 }, [20, 220], value => value / 10)
  expect(scale.x(60)).toBe(50)
  expect(scale.x(120)).toBe(710)
  expect(scale.at(scale.x(75))).toBeCloseTo(75)
  expect(scale.at(49)).toBeNull()
  expect(scale.y(0)).toBe(220)
  expect(scale.y(10)).toBe(20)
})

test('time ticks are round and have room', () => {
  expect(timeTicks(0, 60, 400)).toEqual([0, 20, 40, 60])
  // A phone's: two labels are no scale.
  expect(timeTicks(0, 36, 251)).toEqual([0, 10, 20, 30])
  expect(timeTicks(7, 11_160, 800).map(at => at / 1_800)).toEqual([1, 2, 3, 4, 5, 6])
})

test('an axis names its start, and is another clock’s where it is given one', () => {
  const time = timeAxis(0, 60, 'start')
  expect([0, 20].map(time.label)).toEqual(['start', '20 s'])
  expect(timeAxis(0, 60, 'start', at => `${at} o’clock`).label(0)).toBe('0 o’clock')
  expect([0, 1_500].map(countAxis(7_000, at => `step ${at}`).label)).toEqual(['step 0', '1,500'])
})

test('no label of an axis runs into the next, however little room there is', () => {
  for (const width of [270, 340, 900]) {
    const scale = scaleOf({ from: 0, to: 530 }, width, { left: 46, right: 84 }, [20, 220], value => value)
    const recording = new Recording()
    drawAxis(recording.context, scale, timeAxis(0, 530, 'start'), true)
    const labels = recording.marks.filter(({ kind }) => kind === 'text')
    const ends = labels.map(({ points: [at], text }) => {
      const half = (text.length * CHARACTER) / 2
      return [(at?.[0] ?? 0) - half, (at?.[0] ?? 0) + half] as const
    })
    expect(labels.length).toBeGreaterThan(1)
    for (const [index, [left]] of ends.entries())
      expect(left).toBeGreaterThan(ends[index - 1]?.[1] ?? Number.NEGATIVE_INFINITY)
  }
})

test('labels keep apart, in order, and above the edge', () => {
  expect(spread([10, 12, 40], 15)).toEqual([10, 25, 40])
  expect(spread([68, 70], 15, 74)).toEqual([59, 74])
  expect(spread([70, 68, 20], 15, 74)).toEqual([74, 59, 20])
  expect(spread([10, 12, 50], 15)).toEqual([10, 25, 50])
  expect(spread([12, 10], 15)).toEqual([25, 10])
})
