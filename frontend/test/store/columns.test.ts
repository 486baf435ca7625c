import { expect, test } from 'vitest'
import { newestFrom, stepAt, stepColumns } from '../../src/store/columns'
import { series, seriesPage } from '../made'

test('a run without steps has no columns', () => {
  expect(stepColumns(seriesPage(series('step_us', [])))).toBeNull()
  expect(stepColumns(seriesPage())).toBeNull()
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
