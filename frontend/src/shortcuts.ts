/** Single-key shortcuts: off while typing, and off altogether for those who want that (WCAG 2.1.4). */
import { signal } from '@preact/signals'
import { keep, recall } from './kept'

const KEY = 'underfed-shortcuts'
/** After `g` the next key names a page, for this long. */
const SEQUENCE_MS = 1_200

export const shortcutsAreOn = signal(recall(KEY) !== 'off')

export function switchShortcuts(on: boolean): void {
  shortcutsAreOn.value = on
  keep(KEY, on ? null : 'off')
}

export type Bindings = Record<string, (key: string) => void>

/** Each one's keys win over those of the ones before it, whichever was bound last. */
export type Owner = 'frame' | 'page' | 'part'

const bound: Record<Owner, Bindings[]> = { frame: [], page: [], part: [] }

/**
 * Of one owner the later bindings win. Returns what takes them back.
 * Called in a layout effect, so that keys work as soon as what they act on is visible.
 */
export function bind(owner: Owner, bindings: Bindings): () => void {
  const all = bound[owner]
  all.push(bindings)
  return () => {
    all.splice(all.indexOf(bindings), 1)
  }
}

let prefix = ''
let prefixAt = 0

function onKey(event: KeyboardEvent): void {
  if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey) return
  if (event.key !== 'Escape' && (isTyping(event.target) || !shortcutsAreOn.value)) return
  if (document.querySelector('dialog[open], :popover-open')) return
  const fresh = performance.now() - prefixAt < SEQUENCE_MS
  const name = fresh && prefix ? `${prefix} ${event.key}` : event.key
  prefix = event.key === 'g' ? 'g' : ''
  prefixAt = performance.now()
  const action = [...bound.frame, ...bound.page, ...bound.part].findLast(bindings => bindings[name])?.[name]
  if (!action) return
  event.preventDefault()
  action(event.key)
}

/** A checkbox keeps the focus after it was ticked, but takes no letters. */
const TYPED_INTO = 'input:not([type=checkbox], [type=radio]), textarea, select, [contenteditable]'

function isTyping(target: EventTarget | null): boolean {
  return target instanceof HTMLElement && target.matches(TYPED_INTO)
}

export function listenForShortcuts(): void {
  document.addEventListener('keydown', onKey)
}
