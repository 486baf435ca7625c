// @vitest-environment happy-dom
import { beforeEach, expect, test } from 'vitest'
import { followAddress, navigate, parse, route, runsHref, withQuery } from '../src/router'
import { isFiltered, listFilter, parseFilter } from '../src/store/filter'

beforeEach(() => navigate('/'))

test('addresses name pages', () => {
  expect(parse('/', '').page).toBe('runs')
  expect(parse('/runs/abc-1_2', '')).toMatchObject({ page: 'run', runId: 'abc-1_2' })
  expect(parse('/alerts', '').page).toBe('alerts')
  expect(parse('/runs/a/b', '').page).toBe('unknown')
  expect(parse(`/runs/${'x'.repeat(65)}`, '').page).toBe('unknown')
})

test('filters come from the query, and nonsense does not', () => {
  const query = parseFilter(new URLSearchParams('q=vit&status=crashed&bound=nonsense&sort=name'))
  expect(query).toMatchObject({ q: 'vit', status: 'crashed', bound: null, project: null, sort: 'name' })
  expect(isFiltered(query)).toBe(true)
  expect(isFiltered(parseFilter(new URLSearchParams('sort=name')))).toBe(false)
})

test('what the list asks for stays the same object while it is the same', () => {
  navigate('/?q=vit')
  const first = listFilter.value
  navigate('/?q=vit')
  expect([first.q, listFilter.value === first]).toEqual(['vit', true])
})

test('an empty value leaves the query', () => {
  expect(withQuery({ q: '', status: null }, new URLSearchParams('q=a&status=lost'))).toBe('')
  expect(withQuery({ tag: 'k=v' }, new URLSearchParams('q=a'))).toBe('?q=a&tag=k%3Dv')
})

test('a link inside the page changes the route and loads nothing', () => {
  followAddress()
  document.body.innerHTML = '<a href="/runs/r1">r1</a><a href="/docs">docs</a>'
  const [inside, outside] = document.querySelectorAll('a')
  const click = () => new MouseEvent('click', { bubbles: true, cancelable: true })
  const first = click()
  inside?.dispatchEvent(first)
  expect(first.defaultPrevented).toBe(true)
  expect(route.value).toMatchObject({ page: 'run', runId: 'r1' })
  const second = click()
  outside?.addEventListener('click', event => {
    expect(event.defaultPrevented).toBe(false)
    event.preventDefault()
  })
  outside?.dispatchEvent(second)
  expect(route.value).toMatchObject({ page: 'run', runId: 'r1' })
})

test('a link that is to open elsewhere is left to the browser', () => {
  followAddress()
  document.body.innerHTML = '<a href="/runs/r1">r1</a>'
  const anchor = document.querySelector('a')
  for (const key of ['ctrlKey', 'metaKey', 'shiftKey', 'altKey'] as const) {
    const click = new MouseEvent('click', { bubbles: true, cancelable: true, [key]: true })
    document.addEventListener('click', event => event.preventDefault(), { once: true })
    anchor?.dispatchEvent(click)
    expect(route.value.page).toBe('runs')
  }
})

test('the way back from a run keeps the filters of the table', () => {
  navigate('/?status=crashed')
  navigate('/runs/r1')
  expect(runsHref()).toBe('/?status=crashed')
})
