/** The one short message at the foot of the page: what was just done, and how to undo it. */
import { signal } from '@preact/signals'

export interface Notice {
  text: string
  undo: (() => Promise<void>) | null
}

/** How long it stays; the service itself can restore a deleted run for days, from the list of deleted ones. */
const SHOWN_MS = 15_000

export const notice = signal<Notice | null>(null)

let timer: ReturnType<typeof setTimeout> | undefined

export function show(text: string, undo: Notice['undo'] = null): void {
  clearTimeout(timer)
  notice.value = { text, undo }
  timer = setTimeout(dismiss, SHOWN_MS)
}

export function dismiss(): void {
  clearTimeout(timer)
  notice.value = null
}
