// @vitest-environment happy-dom
import { afterEach, beforeEach, expect, test, vi } from 'vitest'

/** As a browser that keeps nothing for a site: even to name the storage is an error. */
function block(name: string): void {
  Object.defineProperty(globalThis, name, {
    configurable: true,
    get() {
      throw new DOMException('denied', 'SecurityError')
    },
  })
}

let stored: PropertyDescriptor | undefined
beforeEach(() => {
  stored = Object.getOwnPropertyDescriptor(globalThis, 'localStorage')
  vi.resetModules()
})
afterEach(() => {
  if (stored) Object.defineProperty(globalThis, 'localStorage', stored)
  vi.unstubAllGlobals()
})

test('where the browser keeps nothing, choices last until the page is left', async () => {
  block('localStorage')
  const { chosenTheme, nextTheme } = await import('../src/theme')
  expect(chosenTheme.value).toBeNull()
  nextTheme()
  expect(chosenTheme.value).not.toBeNull()
  const { shortcutsAreOn, switchShortcuts } = await import('../src/shortcuts')
  switchShortcuts(false)
  expect(shortcutsAreOn.value).toBe(false)
  const { chooseColumns, chosen } = await import('../src/store/chosen')
  chooseColumns(['status'])
  expect(chosen.value).toEqual(['status'])
})

test('a tab that may not speak with others counts as the only one', async () => {
  vi.stubGlobal(
    'BroadcastChannel',
    class {
      constructor() {
        throw new DOMException('denied', 'SecurityError')
      }
    },
  )
  const { link, subscribe } = await import('../src/store/connection')
  const source = { addEventListener() {}, close() {} } as unknown as EventSource
  vi.stubGlobal('EventSource', function open() {
    return source
  })
  const leave = subscribe(['runs'], { onEvent() {}, onMissed() {} })
  source.onopen?.(new Event('open'))
  expect(link.value).toBe('live')
  leave()
})
