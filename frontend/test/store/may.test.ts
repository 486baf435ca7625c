// @vitest-environment happy-dom
import { afterEach, expect, test } from 'vitest'
import type { ServiceInfo } from '../../src/api/schema'
import { service } from '../../src/store/connection'
import { highest, may, mayAnywhere } from '../../src/store/may'
import { scopes } from '../../src/text/frame'

const serviceInfo = (held: Partial<ServiceInfo>) =>
  ({ scopes_in: {}, scopes_in_all: [], scopes: [], ...held }) as unknown as ServiceInfo
const LEAD = serviceInfo({
  scopes: ['admin', 'edit', 'view'],
  scopes_in_all: ['view'],
  scopes_in: { a: ['admin'], b: ['edit'] },
})

afterEach(() => {
  service.value = null
})

test('what one may do differs from project to project, and admin edits too', () => {
  service.value = LEAD
  const found = ['a', 'b', 'c', null].map(project => [may('edit', project), may('admin', project)])
  expect(found).toEqual([
    [true, true],
    [true, false],
    [false, false],
    [false, false],
  ])
  expect([mayAnywhere('edit'), mayAnywhere('admin')]).toEqual([true, true])
})

test('in every project is in each', () => {
  service.value = serviceInfo({ scopes: ['edit'], scopes_in_all: ['edit'] })
  expect([may('edit', 'a'), may('edit', null), may('admin', 'a')]).toEqual([true, true, false])
})

test('nothing is offered before the service has said who asks', () => {
  expect([may('edit', 'a'), mayAnywhere('edit')]).toEqual([false, false])
})

test('the account says the most that one may do, and where', () => {
  expect(highest(LEAD)).toBe('admin')
  expect(scopes.ofUser('ada', highest(LEAD))).toBe('ada (admin)')
  expect(scopes.held(LEAD)).toBe('Every project: view. a: admin. b: edit.')
  expect(scopes.ofUser('ada', highest(serviceInfo({})))).toBe('ada (no access)')
  expect(scopes.held(serviceInfo({}))).toContain('None of your groups')
})
