import { expect, test } from 'vitest'
import { reuse } from '../../src/store/reuse'

const before = { name: 'a', figures: [1, 2, null], loaders: [{ loader: 'train' }, { loader: 'val' }] }
const read = (changes: object = {}) => ({ ...structuredClone(before), ...changes })

test('what was read again and says the same is what was there', () => {
  expect(reuse(before, read())).toBe(before)
})

test('of what changed the parts that did not are kept, and nothing of the old shines through', () => {
  const next = reuse(before, read({ name: 'b', figures: [1, 2, 3], loaders: [{ loader: 'train' }] }))
  expect(next).toEqual({ name: 'b', figures: [1, 2, 3], loaders: [{ loader: 'train' }] })
  expect(next.loaders[0]).toBe(before.loaders[0])
  expect(next.figures).not.toBe(before.figures)
  expect(before.figures).toEqual([1, 2, null])
})

test('what came, went or turned from null into figures is a change', () => {
  const more = { ...read(), reason: 'new' }
  expect(reuse(before, more as typeof before)).toBe(more)
  const { name: _, ...less } = read()
  expect(reuse(before as Partial<typeof before>, less)).toBe(less)
  expect(reuse<unknown>({ spread: null }, { spread: [] })).toEqual({ spread: [] })
  expect(reuse<unknown>([], {})).toEqual({})
  expect(reuse<unknown>(null, before)).toBe(before)
})
