import { expect, test } from 'vitest'
import { isSame, queryOf, selectionOf, WHOLE, zoomed } from '../../src/store/permalink'

const of = (search: string) => selectionOf(new URLSearchParams(search))
const back = (search: string) => {
  const entries = Object.entries(queryOf(of(search))).filter(([, value]) => value !== null)
  return new URLSearchParams(entries as [string, string][]).toString()
}

test('what is chosen survives the way through the address', () => {
  for (const search of [
    '',
    'from_step=100&to_step=250&rank=3&loader=val',
    'newest_s=900',
    'rank=0&percentiles=true',
  ])
    expect(back(search)).toBe(search)
})

test('an address that makes no sense shows the whole run', () => {
  for (const search of ['from_step=9&to_step=9', 'from_step=-1&to_step=5', 'newest_s=soon', 'to_step=4'])
    expect(of(search).range).toEqual(WHOLE)
  expect(of('rank=one').rank).toBeNull()
})

test('rank 0 that was chosen is not the rank that nobody chose', () => {
  expect(isSame(of('rank=0'), of(''))).toBe(false)
  expect(isSame(of('rank=0'), of('rank=0'))).toBe(true)
})

test('zooming keeps the middle, moving keeps the width, and neither leaves the run', () => {
  expect(zoomed({ from: 0, to: 100 }, 100, { factor: 0.5 })).toEqual({ kind: 'steps', from: 25, to: 75 })
  expect(zoomed({ from: 25, to: 75 }, 100, { factor: 2 })).toBeNull()
  expect(zoomed({ from: 25, to: 75 }, 100, { shift: 1 })).toEqual({ kind: 'steps', from: 50, to: 100 })
  expect(zoomed({ from: 25, to: 75 }, 100, { shift: -1 })).toEqual({ kind: 'steps', from: 0, to: 50 })
  expect(zoomed({ from: 7, to: 8 }, 100, { factor: 0.5 })).toEqual({ kind: 'steps', from: 7, to: 8 })
})
