/** What the charts of one page share: gutters, so that their time axes line up, ticks, sizes and a canvas. */
import { formatElapsed } from '../format'
import { onRepaint } from './palette'

/** A mounted chart. `update` takes everything anew; nothing else changes it. */
export interface Mounted<T> {
  update(data: T): void
  destroy(): void
}

export interface Gutters {
  left: number
  right: number
}

/** The right one holds the direct labels. */
export function gutters(width: number): Gutters {
  return width < 480 ? { left: 46, right: 78 } : { left: 54, right: 84 }
}

const SECONDS = [
  0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 30, 60, 120, 300, 600, 900, 1_800, 3_600, 7_200, 10_800, 21_600,
]
const DAY_S = 86_400
/** Steps between time ticks, in seconds: the finest that fits is taken. */
const TIME_STEPS: readonly number[] = [...SECONDS, 43_200, DAY_S, 2 * DAY_S, 7 * DAY_S, 28 * DAY_S]
/** A time label and the air around it, in CSS pixels. */
export const TIME_SPACE = 76

/** Instants at which a time axis has a tick. */
export function timeTicks(fromS: number, toS: number, width: number): readonly number[] {
  const room = Math.max(1, Math.floor(width / TIME_SPACE))
  const step = TIME_STEPS.find(candidate => (toS - fromS) / candidate <= room) ?? DAY_S * 56
  const first = Math.ceil(fromS / step) * step
  return Array.from({ length: Math.floor((toS - first) / step) + 1 }, (_, index) => first + index * step)
}

export function timeLabel(atS: number, spanS: number, start: string): string {
  return atS === 0 ? start : formatElapsed(atS, spanS)
}

/** Moves labels apart so that each has `room` pixels and none lies below `lowest`; keeps their order. */
export function spread(positions: readonly number[], room: number, lowest = Infinity): readonly number[] {
  const ranked = positions.map((at, index) => ({ at, index })).sort((a, b) => a.at - b.at)
  let free = -Infinity
  for (const label of ranked) {
    label.at = Math.max(label.at, free)
    free = label.at + room
  }
  let below = lowest
  for (const label of ranked.toReversed()) {
    label.at = Math.min(label.at, below)
    below = label.at - room
  }
  const placed = [...positions]
  for (const { at, index } of ranked) placed[index] = at
  return placed
}

export interface Surface {
  canvas: HTMLCanvasElement
  /** In CSS pixels, as it was laid out last: asking the element would lay out the page in the midst of drawing. */
  width(): number
  /** At once, or as soon as it comes near the screen. */
  redraw(): void
  destroy(): void
}

/** So far below the screen is near, as a share of its height: who scrolls finds it drawn. */
const NEAR_SCREEN = '50%'

/** A canvas that fills `element`, sharp on its screen, drawn again on a new size, theme or font. */
export function createSurface(
  element: HTMLElement,
  height: () => number,
  draw: (context: CanvasRenderingContext2D) => void,
): Surface {
  const canvas = document.createElement('canvas')
  const context = canvas.getContext('2d') as CanvasRenderingContext2D
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
    // What is seldom, and what paper wants, is drawn whether it is seen or not.
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

/** A new size empties a canvas and takes new memory: only where it is one. */
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
export function onFonts(redraw: () => void): () => void {
  let active = true
  if (document.fonts.status !== 'loaded') void document.fonts.ready.then(() => active && redraw())
  return () => {
    active = false
  }
}

export function onResize(element: HTMLElement, resized: (width: number) => void): () => void {
  let width = element.clientWidth
  const observer = new ResizeObserver(() => {
    if (element.clientWidth === width) return
    width = element.clientWidth
    resized(width)
  })
  observer.observe(element)
  return () => observer.disconnect()
}
