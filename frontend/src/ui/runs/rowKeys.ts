/** `j` and `k` move the browser's focus from row to row, so that Enter opens a run. */
import type { RefObject } from 'preact'
import { useLayoutEffect } from 'preact/hooks'
import { bind } from '../../shortcuts'

/** Kept free above (filters, table head) and below a focused row, in rows. */
const ROOM = 3

export function useRowKeys(body: RefObject<HTMLElement | null>, count: number, rowHeight: number): void {
  useLayoutEffect(() => {
    const step = (by: number) =>
      body.current && focusRow(body.current, nextRow(body.current, count, rowHeight, by), rowHeight)
    /** As a click does: with Shift, all rows since the last one that was ticked. */
    const tick = (shiftKey: boolean) =>
      focusedRow(body.current)
        ?.querySelector('input')
        ?.dispatchEvent(new MouseEvent('click', { shiftKey, bubbles: true }))
    return bind('part', { j: () => step(1), k: () => step(-1), x: () => tick(false), X: () => tick(true) })
  }, [body, count, rowHeight])
}

/** From the focused row on; without one, the first on the screen. */
function nextRow(body: HTMLElement, count: number, rowHeight: number, by: number): number {
  const focused = focusedRow(body)
  const first = Math.max(0, Math.ceil(-body.getBoundingClientRect().top / rowHeight))
  const next = focused ? Number(focused.getAttribute('aria-rowindex')) - 2 + by : first
  return Math.max(0, Math.min(count - 1, next))
}

function focusedRow(body: HTMLElement | null): Element | null {
  const focused = document.activeElement
  return focused && body?.contains(focused) ? focused.closest('tr') : null
}

function focusRow(body: HTMLElement, row: number, rowHeight: number): void {
  const top = body.getBoundingClientRect().top + row * rowHeight
  const isHidden = top < ROOM * rowHeight || top > innerHeight - ROOM * rowHeight
  if (isHidden) scrollBy(0, top - innerHeight / 2)
  // Scrolling draws the row in the next frame; it can take the focus in the one after.
  requestAnimationFrame(() => requestAnimationFrame(() => link(body, row)?.focus({ preventScroll: true })))
}

function link(body: HTMLElement, row: number): HTMLElement | null {
  const found = body.querySelector(`tr[aria-rowindex="${row + 2}"]`)
  // A deleted run leads nowhere.
  return found?.querySelector('a') ?? found?.querySelector('input') ?? null
}
