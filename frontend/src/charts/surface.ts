/** The canvas of a chart: as wide as its place, sharp on its screen, drawn when it is near the screen. */
import { onRepaint } from './palette'
import type { Context } from './pen'

export interface Surface {
  canvas: HTMLCanvasElement
  /** In CSS pixels, from the last layout: asking the element would force a layout while drawing. */
  width(): number
  /** Draws at once, or as soon as it comes near the screen. */
  redraw(): void
  destroy(): void
}

/** How far below the screen counts as near, as a share of its height: charts are drawn before they are scrolled into view. */
const NEAR_SCREEN = '50%'

/** A canvas that fills `element`, sharp on its screen, drawn again on a new size, theme or font. */
export function createSurface(
  element: HTMLElement,
  height: () => number,
  draw: (context: Context) => void,
): Surface {
  const canvas = document.createElement('canvas')
  const context = canvas.getContext('2d') as Context
  let width = element.clientWidth
  let isNear = true
  let isStale = false
  canvas.style.display = 'block'
  element.append(canvas)

  function drawNow(): void {
    isStale = false
    resize(canvas, width, height())
    context.reset()
    context.scale(devicePixelRatio, devicePixelRatio)
    draw(context)
  }
  function redraw(): void {
    if (isNear) drawNow()
    else isStale = true
  }

  const stops = [
    // A new theme, size or font is rare, and printing needs it: drawn even where it is not seen.
    onRepaint(drawNow),
    onResize(element, resized => {
      width = resized
      drawNow()
    }),
    onFonts(drawNow),
    onNear(element, isNowNear => {
      isNear = isNowNear
      if (isNear && isStale) drawNow()
    }),
  ]
  return {
    canvas,
    width: () => width,
    redraw,
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
