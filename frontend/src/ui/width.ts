/** How much room the table of runs has, as it changes. */
import { signal } from '@preact/signals'
import type { RefObject } from 'preact'
import { useLayoutEffect } from 'preact/hooks'

/** In CSS pixels; before the first layout as wide as the window. */
export const room = signal(innerWidth)

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
