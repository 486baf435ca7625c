// @vitest-environment node
import { expect, test } from 'vitest'
import { sparkPath } from '../../src/charts/spark'

test('it breaks where nothing was measured; a value alone is a dot', () => {
  const { line, area } = sparkPath([0, 1, null, 0.5], 90, 20)
  expect(line).toBe('M0,20L30,0M90,10h1')
  expect(area.match(/Z/g)).toHaveLength(2)
})

test('no values, or none that was measured, are no path', () => {
  for (const values of [[], [null], [null, null]])
    expect(sparkPath(values, 90, 20)).toEqual({ line: '', area: '' })
})

test('one value stands at the left, at its height', () => {
  expect(sparkPath([0.25], 90, 20).line).toBe('M0,15h1')
})

test('its area reaches down to 0', () => {
  expect(sparkPath([0.5, 1], 90, 20).area).toBe('M0,20L0,10L90,0L90,20Z')
})
