/** What a pointer does to a chart: it moves the crosshair, and a drag chooses a span. */
import { effect, type Signal } from '@preact/signals'
import type { Scale } from './axes'
import type { Surface } from './surface'

/** The position that the reader points at, shared by all charts of a panel; `null`: there is none. */
export type Crosshair = Signal<number | null>

/** A drag shorter than this is a click, in CSS pixels. */
export const DRAG_PX = 6

/**
 * `onZoom`: the reader dragged from one position to another; without it a drag does nothing. Returns a function that
 * ends it.
 */
export function follow(
  { canvas, scale: scaleNow }: Surface,
  crosshair: Crosshair,
  onZoom?: (from: number, to: number) => void,
): () => void {
  const element = canvas.parentElement as HTMLElement
  const position = addMark(element, 'crosshair')
  const chosen = addMark(element, 'chosen-span')
  let from: number | null = null

  /** Both ends of the drag, in pixels from left to right, inside the drawing. */
  function dragged(start: number, event: PointerEvent): readonly [number, number] {
    const { left, right } = scaleNow()
    const here = Math.min(right, Math.max(left, event.offsetX))
    return start < here ? [start, here] : [here, start]
  }
  function stop(): void {
    from = null
    chosen.hidden = true
  }

  canvas.onpointermove = event => {
    crosshair.value = scaleNow().at(event.offsetX)
    if (from === null) return
    const [start, end] = dragged(from, event)
    chosen.hidden = end - start < DRAG_PX
    put(chosen, scaleNow(), start, end - start)
  }
  canvas.onpointerdown = event => {
    if (!onZoom || event.button !== 0 || scaleNow().at(event.offsetX) === null) return
    from = event.offsetX
    canvas.setPointerCapture(event.pointerId)
  }
  canvas.onpointerup = event => {
    const { at } = scaleNow()
    const [start, end] = from === null ? [0, 0] : dragged(from, event)
    if (end - start >= DRAG_PX) onZoom?.(at(start) ?? 0, at(end) ?? 0)
    stop()
  }
  canvas.onpointercancel = stop
  canvas.onpointerleave = () => {
    crosshair.value = null
  }

  stop()
  const unfollow = effect(() => {
    const scale = scaleNow()
    const x = crosshair.value === null ? -1 : scale.x(crosshair.value)
    position.hidden = x < scale.left || x > scale.right
    put(position, scale, x, 0)
  })
  return () => {
    unfollow()
    position.remove()
    chosen.remove()
  }
}

function put(mark: HTMLElement, { top, bottom }: Scale, left: number, width: number): void {
  Object.assign(mark.style, {
    left: `${left}px`,
    width: `${width}px`,
    top: `${top}px`,
    height: `${bottom - top}px`,
  })
}

function addMark(element: HTMLElement, name: string): HTMLElement {
  const mark = document.createElement('i')
  mark.className = `${name} screen-only`
  element.append(mark)
  return mark
}
