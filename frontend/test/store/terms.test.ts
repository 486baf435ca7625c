// @vitest-environment happy-dom
import { expect, test } from 'vitest'
import type { ServiceInfo } from '../../src/api/schema'
import { service } from '../../src/store/connection'
import { parseFilter } from '../../src/store/filter'
import { choosing, chosenIn, hasTerm, ofDay, toggled } from '../../src/store/terms'
import { activeFilters, dayIn } from '../../src/ui/runs/activeFilters'

test('a term is put in by one click and taken out by the next, whatever else is searched', () => {
  const on = toggled('resnet -host:gpu-03', ['cause:storage_wait'])
  expect(on).toBe('resnet -host:gpu-03 cause:storage_wait')
  expect(hasTerm(on, 'cause:storage_wait')).toBe(true)
  expect(toggled(on, ['cause:storage_wait'])).toBe('resnet -host:gpu-03')
})

test('a name with spaces is one value, and what is said otherwise of the key stays', () => {
  const q = choosing('user!=ada resnet', 'user', 'Ada Lovelace')
  expect(q).toBe('user!=ada resnet user="Ada Lovelace"')
  expect(chosenIn(q, 'user')).toBe('Ada Lovelace')
  expect(choosing(q, 'user', 'wei')).toBe('user!=ada resnet user=wei')
  expect(choosing(q, 'user', null)).toBe('user!=ada resnet')
})

test('a day is two terms and one filter', () => {
  const q = toggled('resnet', ofDay('2026-11-20'))
  expect(q).toBe('resnet started<=2026-11-20 seen>=2026-11-20')
  expect(dayIn(q)).toBe('2026-11-20')
  const [day] = activeFilters(parseFilter(new URLSearchParams({ q })))
  expect([day?.words, day?.without]).toEqual(['running on Fri 20 Nov', { q: 'resnet' }])
  expect(dayIn('started<=2026-11-20 seen>=2026-11-19')).toBeNull()
})

test('what narrows the list is said in words, the service’s labels among them, each with the way out of it', () => {
  service.value = {
    labels: { cause: { storage_wait: 'slow storage' }, status: { lost: 'no signal' } },
  } as unknown as ServiceInfo
  const query = new URLSearchParams({
    q: 'cause:storage_wait,none num_workers<8',
    status: 'lost',
    archived: 'any',
  })
  const filters = activeFilters(parseFilter(query))
  expect(filters.map(({ words }) => words)).toEqual([
    'slow storage or no single cause',
    'num_workers<8',
    'no signal',
    'including archived',
  ])
  expect(filters[0]?.without).toEqual({ q: 'num_workers<8' })
  expect(filters.filter(({ hasControl }) => !hasControl)).toHaveLength(3)
})
