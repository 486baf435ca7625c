/** What a pointer does to a chart over run time: it moves the crosshair, and a drag chooses a span. */
import type { Scale } from './axes'
import type { Crosshair } from './crosshair'

/** A drag shorter than this is a click. */
const DRAG_PX = 6

export interface Pointing {
  scale(): Scale
  crosshair: Crosshair
  /** The reader dragged over a span; without it a drag does nothing. */
  onZoom?: (fromS: number, toS: number) => void
}

/** Returns what undoes it. */
export function follow(element: HTMLElement, canvas: HTMLCanvasElement, pointing: Pointing): () => void {
  const { crosshair, onZoom } = pointing
  const position = addMark(element, 'crosshair')
  const chosen = addMark(element, 'chosen-span')
  let from: number | null = null

  function show(atS: number | null): void {
    const scale = pointing.scale()
    const at = atS === null ? -1 : scale.x(atS)
    position.hidden = at < scale.left || at > scale.right
    put(position, scale, at, 0)
  }

  function within(x: number): number {
    const { left, right } = pointing.scale()
    return Math.min(right, Math.max(left, x))
  }

  canvas.onpointermove = event => {
    crosshair.move(pointing.scale().atS(event.offsetX))
    if (from === null) return
    const [start, end] = [from, within(event.offsetX)].toSorted((a, b) => a - b) as [number, number]
    chosen.hidden = end - start < DRAG_PX
    put(chosen, pointing.scale(), start, end - start)
  }
  canvas.onpointerdown = event => {
    if (!onZoom || event.button !== 0 || pointing.scale().atS(event.offsetX) === null) return
    from = event.offsetX
    canvas.setPointerCapture(event.pointerId)
  }
  canvas.onpointerup = event => {
    const { atS } = pointing.scale()
    const [start, end] = [from ?? 0, within(event.offsetX)].toSorted((a, b) => a - b) as [number, number]
    if (from !== null && end - start >= DRAG_PX) onZoom?.(atS(start) ?? 0, atS(end) ?? 0)
    stop()
  }
  canvas.onpointercancel = stop
  canvas.onpointerleave = () => crosshair.move(null)

  function stop(): void {
    from = null
    chosen.hidden = true
  }

  stop()
  show(crosshair.atS)
  const unsubscribe = crosshair.subscribe(show)
  return () => {
    unsubscribe()
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
  mark.className = name
  element.append(mark)
  return mark
}
