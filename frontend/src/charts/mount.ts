/** A chart as the page mounts it: what is drawn, on a canvas, with the pointer over it. */
import type { Scale } from './axes'
import type { Context } from './pen'
import { follow, type Pointing } from './pointing'
import { createSurface } from './surface'

/** Something that can be drawn at any width: on the page, and again in a picture of it. */
export interface Drawn {
  /** CSS pixels, axes included. */
  height: number
  /** `width`: of the whole canvas, in CSS pixels. */
  scale(width: number): Scale
  draw(context: Context, scale: Scale): void
}

/** A mounted chart. `update` replaces everything; nothing else changes it. */
export interface Mounted<T> {
  update(data: T): void
  destroy(): void
}

/** Without `pointing` the pointer does nothing to it. */
export function mountDrawn(
  element: HTMLElement,
  first: Drawn,
  pointing: Omit<Pointing, 'scale'> | null,
): Mounted<Drawn> {
  let drawn = first
  const scale = () => drawn.scale(surface.width())
  const surface = createSurface(
    element,
    () => drawn.height,
    context => drawn.draw(context, scale()),
  )
  const unfollow = pointing && follow(element, surface.canvas, { ...pointing, scale })
  surface.redraw()
  return {
    update(next) {
      if (next === drawn) return
      drawn = next
      surface.redraw()
    },
    destroy() {
      unfollow?.()
      surface.destroy()
    },
  }
}

/** What `draw` draws of values beyond the scale is cut off. */
export function within(context: Context, { left, right, top, bottom }: Scale, draw: () => void): void {
  context.save()
  context.beginPath()
  context.rect(left, top - 1, right - left, bottom - top + 2)
  context.clip()
  draw()
  context.restore()
}
