/** A chart on the page: what is drawn, on a canvas as wide as its place, sharp on its screen, drawn when it is near the screen. */
import type { Scale } from './axes'
import { onRepaint } from './palette'
import type { Context } from './pen'

/** Something that can be drawn at any width: on the page, and again in a picture of it. */
export interface Drawn {
  /** CSS pixels, axes included. */
  height: number
  /** `width`: of the whole canvas, in CSS pixels. */
  scale(width: number): Scale
  draw(context: Context, scale: Scale): void
}

export type Surface = ReturnType<typeof createSurface>

/** How far below the screen counts as near, as a share of its height: charts are drawn before they are scrolled into view. */
const NEAR_SCREEN = '50%'

/** A canvas that fills `element`, drawn again on a new size, theme or font. */
export function createSurface(element: HTMLElement, first: Drawn) {
  const canvas = document.createElement('canvas')
  const context = canvas.getContext('2d') as Context
  let drawn = first
  /** In CSS pixels, from the last layout: asking the element would force a layout while drawing. */
  let width = element.clientWidth
  let isNear = true
  let isStale = false
  canvas.style.display = 'block'
  element.append(canvas)

  const scale = () => drawn.scale(width)
  function draw(): void {
    isStale = false
    resize(canvas, width, drawn.height)
    context.reset()
    context.scale(devicePixelRatio, devicePixelRatio)
    drawn.draw(context, scale())
  }

  const stops = [
    // A new theme, size or font is rare, and printing needs it: drawn even where it is not seen.
    onRepaint(draw),
    onResize(element, resized => {
      width = resized
      draw()
    }),
    onFonts(draw),
    onNear(element, isNowNear => {
      isNear = isNowNear
      if (isNear && isStale) draw()
    }),
  ]
  draw()
  return {
    canvas,
    scale,
    /** Draws it at once, or as soon as it comes near the screen. */
    show(next: Drawn) {
      if (next === drawn) return
      drawn = next
      if (isNear) draw()
      else isStale = true
    },
    destroy() {
      for (const stop of stops) stop()
      canvas.remove()
    },
  }
}

/** Setting the size clears a canvas and allocates memory: only where the size changed. */
function resize(canvas: HTMLCanvasElement, width: number, height: number): void {
  const [across, down] = [Math.round(width * devicePixelRatio), Math.round(height * devicePixelRatio)]
  if (canvas.width === across && canvas.height === down) return
  canvas.width = across
  canvas.height = down
  canvas.style.width = `${width}px`
  canvas.style.height = `${height}px`
}

function onNear(element: HTMLElement, changed: (isNear: boolean) => void): () => void {
  const observer = new IntersectionObserver(entries => changed(entries.at(-1)?.isIntersecting ?? true), {
    rootMargin: NEAR_SCREEN,
  })
  observer.observe(element)
  return () => observer.disconnect()
}

/** Text that was drawn before its font arrived is drawn again. */
function onFonts(redraw: () => void): () => void {
  let active = true
  if (document.fonts.status !== 'loaded') void document.fonts.ready.then(() => active && redraw())
  return () => {
    active = false
  }
}

function onResize(element: HTMLElement, resized: (width: number) => void): () => void {
  let width = element.clientWidth
  const observer = new ResizeObserver(() => {
    if (element.clientWidth === width) return
    width = element.clientWidth
    resized(width)
  })
  observer.observe(element)
  return () => observer.disconnect()
}
