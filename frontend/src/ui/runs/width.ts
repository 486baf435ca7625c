/** How much room the table of runs has, as it changes. */
import { signal } from '@preact/signals'
import type { RefObject } from 'preact'
import { useLayoutEffect } from 'preact/hooks'
import { followWidth } from '../parts/width'

/** Left and right of the page together: twice `--margin` of styles/tokens.css. */
const MARGINS_PX = 64
/** In CSS pixels. Before the first layout it is guessed from the window, so that the columns mostly stay as first drawn. */
export const room = signal(document.documentElement.clientWidth - MARGINS_PX)

export function useRoom(element: RefObject<HTMLElement | null>): void {
  useLayoutEffect(() => {
    if (!element.current) return
    return followWidth(element.current, px => {
      room.value = px
    })
  }, [element])
}
