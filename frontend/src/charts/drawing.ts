/** A chart that is drawn anew as a whole: its canvas, its scale, and the pointer over it. */
import type { Scale } from './axes'
import { createSurface, type Mounted } from './frame'
import { follow, type Pointing } from './pointing'

export interface Drawing<T> {
  height(data: T): number
  scale(data: T, width: number): Scale
  draw(context: CanvasRenderingContext2D, data: T, scale: Scale): void
}

export function mountDrawing<T>(
  element: HTMLElement,
  first: T,
  drawing: Drawing<T>,
  pointing: Omit<Pointing, 'scale'>,
): Mounted<T> {
  let data = first
  const surface = createSurface(element, () => drawing.height(data), draw)
  const scale = () => drawing.scale(data, surface.width())
  const unfollow = follow(element, surface.canvas, { ...pointing, scale })

  function draw(context: CanvasRenderingContext2D): void {
    drawing.draw(context, data, scale())
  }

  surface.redraw()
  return {
    update(next) {
      if (next === data) return
      data = next
      surface.redraw()
    },
    destroy() {
      unfollow()
      surface.destroy()
    },
  }
}

/** What `draw` draws of values beyond the scale is cut off. */
export function within(
  context: CanvasRenderingContext2D,
  { left, right, top, bottom }: Scale,
  draw: () => void,
): void {
  context.save()
  context.beginPath()
  context.rect(left, top - 1, right - left, bottom - top + 2)
  context.clip()
  draw()
  context.restore()
}
