// @vitest-environment happy-dom
import { beforeAll, beforeEach, expect, test, vi } from 'vitest'
import { bind, listenForShortcuts, switchShortcuts } from '../src/shortcuts'

beforeAll(listenForShortcuts)
beforeEach(() => {
  document.body.innerHTML = '<input />'
  switchShortcuts(true)
})

function press(key: string, target: Element = document.body): void {
  target.dispatchEvent(new KeyboardEvent('keydown', { key, bubbles: true, cancelable: true }))
}

test('a page’s keys win over the frame’s, and go with the page', () => {
  const [frame, page] = [vi.fn(), vi.fn()]
  const unbindFrame = bind({ j: frame })
  const unbindPage = bind({ j: page })
  press('j')
  unbindPage()
  press('j')
  expect([frame.mock.calls.length, page.mock.calls.length]).toEqual([1, 1])
  unbindFrame()
})

test('typing is typing; Escape still leaves', () => {
  const [letter, leave] = [vi.fn(), vi.fn()]
  const unbind = bind({ t: letter, Escape: leave })
  const input = document.querySelector('input') as Element
  press('t', input)
  press('Escape', input)
  expect([letter.mock.calls.length, leave.mock.calls.length]).toEqual([0, 1])
  unbind()
})

test('g then r is one shortcut', () => {
  const go = vi.fn()
  const unbind = bind({ 'g r': go })
  press('r')
  expect(go).not.toHaveBeenCalled()
  press('g')
  press('r')
  expect(go).toHaveBeenCalledTimes(1)
  unbind()
})

test('single keys can be switched off', () => {
  const toggle = vi.fn()
  const unbind = bind({ t: toggle })
  switchShortcuts(false)
  press('t')
  expect(toggle).not.toHaveBeenCalled()
  unbind()
})
