import { expect, test } from 'vitest'
import { rowWindow } from '../../src/ui/runs/rowWindow'

test('only rows near the screen are drawn', () => {
  expect(rowWindow(1_000, 39, 300, 900)).toEqual({ from: 0, to: 24 })
  const deep = rowWindow(1_000, 39, -10_000, 900)
  expect(deep.to - deep.from).toBe(40)
  expect(deep.from).toBe(248)
  expect(rowWindow(10, 39, 0, 900)).toEqual({ from: 0, to: 10 })
  expect(rowWindow(3, 39, -10_000, 900)).toEqual({ from: 3, to: 3 })
})
