// @vitest-environment happy-dom
import { cleanup, render } from '@testing-library/preact'
import { render as draw } from 'preact'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { link } from '../../src/store/connection'
import { onDemand } from '../../src/ui/parts/onDemand'

let isServed: boolean
const reload = vi.fn()
const Part = onDemand(() => Promise.reject(new TypeError('Failed to fetch dynamically imported module')))

beforeEach(() => {
  vi.useFakeTimers()
  isServed = false
  vi.stubGlobal('fetch', async () => {
    if (!isServed) throw new TypeError('Failed to fetch')
    return new Response(JSON.stringify({ token_required: false, signed_in: true }))
  })
  vi.stubGlobal('location', { ...location, reload })
})
afterEach(() => {
  cleanup()
  reload.mockClear()
  vi.unstubAllGlobals()
  vi.useRealTimers()
})
const seconds = (count: number) => vi.advanceTimersByTimeAsync(count * 1_000)

test('a part that did not come is asked for again by itself, once the service answers', async () => {
  render(<Part />)
  await seconds(20)
  expect(document.body.textContent).toContain('This page could not be loaded.')
  expect([link.value, reload.mock.calls.length]).toEqual(['gone', 0])
  isServed = true
  await seconds(20)
  expect(reload).toHaveBeenCalled()
})

test('a part that never comes does not keep the page reloading, nor does one that is not shown any more', async () => {
  isServed = true
  vi.stubGlobal('performance', { ...performance, now: () => 1_000 })
  const { unmount } = render(<Part />)
  await seconds(10)
  expect(reload).not.toHaveBeenCalled()
  unmount()
  await seconds(10)
  expect(reload).not.toHaveBeenCalled()
})

test('a part that was loaded ahead stands there at once', async () => {
  const Here = onDemand(async () => () => <p>here</p>)
  await Here.ahead()
  // Before any effect has run, as what is painted first.
  const place = document.createElement('div')
  draw(<Here />, place)
  expect(place.innerHTML).toBe('<p>here</p>')
  await Part.ahead()
})

test('a part that cannot be drawn leaves what stands beside it', async () => {
  const Spoilt = onDemand(async () => () => {
    throw new Error('spoilt')
  })
  await Spoilt.ahead()
  render(
    <>
      <Spoilt />
      <p>beside</p>
    </>,
  )
  expect(document.body.textContent).toMatch(/This part of the page failed\..+beside/)
})

test('what is being typed into a dialog is not thrown away', async () => {
  isServed = true
  document.body.append(Object.assign(document.createElement('dialog'), { open: true }))
  render(<Part />)
  await seconds(40)
  expect(reload).not.toHaveBeenCalled()
  document.querySelector('dialog')?.remove()
})
