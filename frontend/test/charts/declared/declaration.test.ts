// @vitest-environment node
import { beforeAll, expect, test } from 'vitest'
import { timeAxis } from '../../../src/charts/axes'
import { type Found, type Ground, shownChart, valueAt } from '../../../src/charts/declared/declaration'
import type { Unit } from '../../../src/charts/units'
import { record, stubBrowser } from '../recording'

beforeAll(stubBrowser)

function ground(found: Record<string, Partial<Found>>): Ground<null> {
  const empty = { unit: 'w', at: [0, 1, 2], values: [], missing: null } as const
  return {
    source: null,
    across: timeAxis(0, 2, 'start'),
    marks: [],
    find: metric => (found[metric] ? { ...empty, ...found[metric] } : null),
    newest: value => `${value} now`,
    highest: value => `highest ${value}`,
  }
}

const POWER = {
  title: 'GPU power',
  lines: [{ metric: 'gpu_power_w', label: 'GPU power', stroke: 'compute' }],
} as const

test('a title and a line are enough for drawing, axis, readout, table, file and words', () => {
  const chart = shownChart(POWER, ground({ gpu_power_w: { values: [300, null, 280] } }))
  expect(chart).toMatchObject({ title: 'GPU power', label: 'GPU power: GPU power 280 W', missing: null })
  expect(chart.quantities).toMatchObject([{ name: 'gpu_power_w', label: 'GPU power', unit: 'w' }])
  const recording = chart.drawn && record(chart.drawn, 800)
  expect(recording?.strokes('compute')).toHaveLength(2)
  expect(recording?.texts()).toEqual(['0', '200', '280 W now'])
})

test('what was not measured is a reason in place of a chart', () => {
  const reason = { gpu_power_w: { values: [null, null], missing: 'no NVIDIA driver' } }
  expect(shownChart(POWER, ground(reason))).toMatchObject({ drawn: null, missing: 'no NVIDIA driver' })
  expect(shownChart(POWER, ground({}))).toMatchObject({ drawn: null, missing: '' })
})

test('an axis suits each unit', () => {
  const ticks = (unit: Unit, ...values: number[]) => {
    const { drawn } = shownChart(POWER, ground({ gpu_power_w: { unit, values } }))
    return drawn && record(drawn, 800).texts().slice(0, -1)
  }
  expect(ticks('us', 0, 412_000)).toEqual(['0', '200', '400 ms'])
  expect(ticks('fraction', 0.1, 0.98)).toEqual(['0', '50', '100%'])
  expect(ticks('bytes', 0, 90 * 1024 ** 2)).toEqual(['0', '50', '100 MiB'])
  expect(ticks('bytes', 0, 900 * 1024 ** 2)).toEqual(['0', '0.5', '1 GiB'])
  expect(ticks('bytes', 0, 1_010)).toEqual(['0', '0.5', '1 KiB'])
  expect(ticks('bytes_per_s', 0, 30 * 1024)).toEqual(['0', '25', '50 KiB/s'])
  expect(ticks('count', 0, 7)).toEqual(['0', '5'])
})

test('a value is read where it was measured, not before, in a gap, or after the end', () => {
  const quantity = { at: [10, 20, 30], values: [1, null, 3] }
  expect([5, 10, 19, 25, 30, 40, 41].map(at => valueAt(quantity, at))).toEqual([null, 1, 1, null, 3, 3, null])
})
