// @vitest-environment happy-dom
import { signal } from '@preact/signals'
import { expect, test } from 'vitest'
import type { BestAdvice, RunSummary } from '../../src/api/schema'
import { movedRows, nextSort, parseSort, sortedIds } from '../../src/store/order'
import { summary } from '../made'

function rowsOf(...runs: Partial<RunSummary>[]) {
  return new Map(runs.map(run => [run.run_id as string, signal(summary(run))]))
}

test('runs without the value come last, whichever way', () => {
  const rows = rowsOf(
    { run_id: 'a', hours_lost: 1 },
    { run_id: 'b', hours_lost: null },
    { run_id: 'c', hours_lost: 7 },
  )
  for (const ids of [
    ['a', 'b', 'c'],
    ['b', 'a', 'c'],
    ['c', 'a', 'b'],
  ]) {
    expect(sortedIds(ids, rows, '-hours_lost')).toEqual(['c', 'a', 'b'])
    expect(sortedIds(ids, rows, 'hours_lost')).toEqual(['a', 'c', 'b'])
  }
})

test('gains are in order of what the run gains at least; what is only to be tried comes last', () => {
  const best = summary().best_advice as BestAdvice
  const rows = rowsOf(
    { run_id: 'a', best_advice: { ...best, low: 1.1, high: 2.4 } },
    { run_id: 'b', best_advice: { ...best, low: 1.3, high: 1.5 } },
    { run_id: 'c', best_advice: { ...best, low: 1.5, run_speedup: 1.19, run_low: 1.15, run_high: 1.22 } },
    { run_id: 'd', best_advice: { ...best, low: 0.9, high: 3, is_promised: false } },
    { run_id: 'e', best_advice: null },
  )
  expect(sortedIds(['a', 'b', 'c', 'd', 'e'], rows, '-predicted_speedup')).toEqual(['b', 'c', 'a', 'd', 'e'])
})

test('ties keep the order of the service', () => {
  const rows = rowsOf({ run_id: 'a', hours_lost: 1 }, { run_id: 'b', hours_lost: 1 })
  expect(sortedIds(['b', 'a'], rows, '-hours_lost')).toEqual(['b', 'a'])
})

test('a column’s head sorts largest first, names from a to z, and turns round', () => {
  expect(nextSort('-hours_lost', 'step_us')).toBe('-step_us')
  expect(nextSort('-step_us', 'step_us')).toBe('step_us')
  expect(nextSort('step_us', 'step_us')).toBe('-step_us')
  expect(nextSort('-hours_lost', 'name')).toBe('name')
  expect(nextSort('name', 'name')).toBe('-name')
})

test('a sort from the address is checked', () => {
  expect(parseSort('-step_us')).toBe('-step_us')
  expect(parseSort('drop table')).toBe('-hours_lost')
  expect(parseSort(null)).toBe('-hours_lost')
})

test('moved rows are counted', () => {
  expect(movedRows(['a', 'b', 'c'], ['b', 'a', 'c'])).toBe(2)
  expect(movedRows(['a'], ['a'])).toBe(0)
})
