/** How much room the table of runs has, as it changes. */
import { signal } from '@preact/signals'
import type { RefObject } from 'preact'
import { useLayoutEffect } from 'preact/hooks'

/** Beside the page, as styles/base.css has it. */
const MARGINS_PX = 64
/** In CSS pixels; before the first layout what the window leaves, so that the first drawing is mostly the last. */
export const room = signal(document.documentElement.clientWidth - MARGINS_PX)

export function useRoom(element: RefObject<HTMLElement | null>): void {
  useLayoutEffect(() => {
    const measured = element.current
    if (!measured) return
    const measure = () => {
      room.value = measured.clientWidth
    }
    measure()
    const observer = new ResizeObserver(measure)
    observer.observe(measured)
    return () => observer.disconnect()
  }, [element])
}
