// @vitest-environment node
import { expect, test } from 'vitest'
import { sparkPath } from '../../src/charts/spark'

test('it goes in steps, and breaks where nothing was measured', () => {
  const { line, area } = sparkPath([0, 1, null, 0.5], 80, 20)
  expect(line).toBe('M0,20H20V0H40M60,10H80')
  expect(area.match(/Z/g)).toHaveLength(2)
})

test('no values, or none that was measured, are no path', () => {
  for (const values of [[], [null], [null, null]])
    expect(sparkPath(values, 90, 20)).toEqual({ line: '', area: '' })
})

test('of a short run each value is as wide as its share, and no triangle', () => {
  expect(sparkPath([0.25], 90, 20).line).toBe('M0,15H90')
  expect(sparkPath([0.5, 1], 90, 20).area).toBe('M0,20V10H45V0H90V20Z')
})
