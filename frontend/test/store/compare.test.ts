import { expect, test } from 'vitest'
import { chosenRuns, compareHref } from '../../src/store/compareHref'

test('the address says which runs are compared', () => {
  const query = new URLSearchParams('run_id=a&run_id=b&run_id=a&run_id=&by=epoch&metric=data_wait_us')
  expect(chosenRuns(query)).toEqual(['a', 'b'])
  expect(compareHref(['b', 'c'], query)).toBe('/compare?by=epoch&metric=data_wait_us&run_id=b&run_id=c')
  expect(compareHref([])).toBe('/compare')
})

test('no more runs are compared than can be distinguished', () => {
  const query = new URLSearchParams(Array.from({ length: 12 }, (_, n) => ['run_id', String(n)]))
  expect(chosenRuns(query)).toHaveLength(8)
})
