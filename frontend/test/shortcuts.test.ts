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

test('keys of a part win over those of its page, and these over the frame’s, whichever came last', () => {
  const [frame, page, part] = [vi.fn(), vi.fn(), vi.fn()]
  const unbindPart = bind('part', { j: part })
  const unbindPage = bind('page', { j: page })
  const unbindFrame = bind('frame', { j: frame })
  press('j')
  unbindPart()
  press('j')
  unbindPage()
  press('j')
  expect([frame, page, part].map(each => each.mock.calls.length)).toEqual([1, 1, 1])
  unbindFrame()
})

test('typing is typing; Escape still leaves', () => {
  const [letter, leave] = [vi.fn(), vi.fn()]
  const unbind = bind('page', { t: letter, Escape: leave })
  const input = document.querySelector('input') as Element
  press('t', input)
  press('Escape', input)
  expect([letter.mock.calls.length, leave.mock.calls.length]).toEqual([0, 1])
  unbind()
})

test('g then r is one shortcut', () => {
  const go = vi.fn()
  const unbind = bind('page', { 'g r': go })
  press('r')
  expect(go).not.toHaveBeenCalled()
  press('g')
  press('r')
  expect(go).toHaveBeenCalledTimes(1)
  unbind()
})

test('single keys can be switched off', () => {
  const toggle = vi.fn()
  const unbind = bind('page', { t: toggle })
  switchShortcuts(false)
  press('t')
  expect(toggle).not.toHaveBeenCalled()
  unbind()
})
