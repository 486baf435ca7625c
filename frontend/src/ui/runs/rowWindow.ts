/** Which rows of a long table are near the screen: only those are drawn. Rows have one fixed height. */
import { useSignal } from '@preact/signals'
import type { RefObject } from 'preact'
import { useEffect } from 'preact/hooks'

export interface RowWindow {
  from: number
  to: number
}

/** Rows drawn above and below the screen, so that scrolling shows no blanks. */
const SPARE_ROWS = 8

/** `top`: of the first row against the screen, in pixels; negative when scrolled past. */
export function rowWindow(count: number, rowHeight: number, top: number, screen: number): RowWindow {
  const first = Math.floor(-top / rowHeight) - SPARE_ROWS
  const from = Math.max(0, Math.min(count, first))
  return { from, to: Math.min(count, Math.max(from, first + Math.ceil(screen / rowHeight) + 2 * SPARE_ROWS)) }
}

/** Follows scrolling and resizing; `body` holds the rows. */
export function useRowWindow(
  body: RefObject<HTMLElement | null>,
  count: number,
  rowHeight: number,
): RowWindow {
  // Before it is known where the table begins: no more than fit on the screen.
  const visible = useSignal<RowWindow>({ from: 0, to: Math.min(count, Math.ceil(innerHeight / rowHeight)) })
  useEffect(() => {
    function measure(): void {
      const top = body.current?.getBoundingClientRect().top ?? 0
      const next = rowWindow(count, rowHeight, top, innerHeight)
      if (next.from !== visible.value.from || next.to !== visible.value.to) visible.value = next
    }
    /** Paper has no scrolling: all rows that were read are on it. */
    const all = () => {
      visible.value = { from: 0, to: count }
    }
    measure()
    const end = new AbortController()
    const { signal } = end
    addEventListener('beforeprint', all, { signal })
    addEventListener('afterprint', measure, { signal })
    addEventListener('scroll', measure, { signal, passive: true })
    addEventListener('resize', measure, { signal })
    return () => end.abort()
  }, [body, count, rowHeight, visible])
  const { from, to } = visible.value
  return { from: Math.min(from, count), to: Math.min(to, count) }
}
