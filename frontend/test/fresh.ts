/**
 * Files of tests follow each other in one thread: to start a thread, and a page in it, costs more than most files.
 * What a file leaves behind goes after its last test, else it reaches whichever file is next.
 */
import { afterAll, vi } from 'vitest'

/** Shorter ones are left to run out: they are Preact's, which all files share and which counts on them. */
const LONG_MS = 100

const hasPage = typeof window !== 'undefined'
const undo: (() => void)[] = []

/** For as long as the file runs. */
function replace<T extends object, K extends keyof T>(owner: T, name: K, made: T[K]): void {
  const own = Object.getOwnPropertyDescriptor(owner, name)
  Object.defineProperty(owner, name, { value: made, configurable: true, writable: true, enumerable: true })
  undo.push(() => {
    if (own) Object.defineProperty(owner, name, own)
    else Reflect.deleteProperty(owner, name)
  })
}

/** Stores and streams that a file leaves open would ask the next file's service. */
function noteTimers(name: 'setTimeout' | 'setInterval'): void {
  const start = globalThis[name]
  const noting = (...[run, ms, ...rest]: Parameters<typeof start>) => {
    const timer = start(run, ms, ...rest)
    if ((ms ?? 0) >= LONG_MS) undo.push(() => clearTimeout(timer))
    return timer
  }
  // Node's own has more to it: what `util.promisify` makes of it.
  replace(globalThis, name, Object.assign(noting, start) as typeof start)
}

/** A click or a key in the next file's page would also move this one's. */
function noteListeners(target: Window | Document): void {
  const add = target.addEventListener
  replace(target, 'addEventListener', (...listener: Parameters<EventTarget['addEventListener']>) => {
    add.apply(target, listener as Parameters<typeof add>)
    undo.push(() => (target as EventTarget).removeEventListener(...listener))
  })
}

/** Each file's page is the browser's only tab: a channel reaches the pages of other files, in other threads too. */
class NobodyElse {
  onmessage = null
  postMessage(): void {}
  close(): void {}
}

function emptyPage(): void {
  for (const element of [document.documentElement, document.head, document.body])
    for (const name of element.getAttributeNames()) element.removeAttribute(name)
  document.head.replaceChildren()
  document.body.replaceChildren()
  history.replaceState(null, '', '/')
  localStorage.clear()
  sessionStorage.clear()
}

noteTimers('setTimeout')
noteTimers('setInterval')
if (hasPage) {
  noteListeners(window)
  noteListeners(document)
  replace(globalThis, 'BroadcastChannel', NobodyElse as unknown as typeof BroadcastChannel)
}

afterAll(() => {
  vi.useRealTimers()
  vi.unstubAllGlobals()
  vi.unstubAllEnvs()
  for (const one of undo.reverse()) one()
  if (hasPage) emptyPage()
  // The stores are modules: the next file makes its own.
  vi.resetModules()
})
