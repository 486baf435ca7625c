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
  /** Cleared, scaled to CSS pixels. */
  begin(): { context: CanvasRenderingContext2D; width: number; height: number }
  destroy(): void
}

/** A canvas that fills `element`, sharp on its screen, drawn again on a new size, theme or font. */
export function createSurface(element: HTMLElement, height: () => number, draw: () => void): Surface {
  const canvas = document.createElement('canvas')
  canvas.style.display = 'block'
  element.append(canvas)
  const stops = [onRepaint(draw), onResize(element, draw), onFonts(draw)]
  return {
    canvas,
    begin() {
      const size = { width: element.clientWidth, height: height() }
      canvas.width = Math.round(size.width * devicePixelRatio)
      canvas.height = Math.round(size.height * devicePixelRatio)
      canvas.style.width = `${size.width}px`
      canvas.style.height = `${size.height}px`
      const context = canvas.getContext('2d') as CanvasRenderingContext2D
      context.scale(devicePixelRatio, devicePixelRatio)
      return { context, ...size }
    },
    destroy() {
      for (const stop of stops) stop()
      canvas.remove()
    },
  }
}

/** Text that was drawn before its font arrived is drawn again. */
export function onFonts(redraw: () => void): () => void {
  let active = true
  if (document.fonts.status !== 'loaded') void document.fonts.ready.then(() => active && redraw())
  return () => {
    active = false
  }
}

export function onResize(element: HTMLElement, resized: () => void): () => void {
  let width = element.clientWidth
  const observer = new ResizeObserver(() => {
    if (element.clientWidth === width) return
    width = element.clientWidth
    resized()
  })
  observer.observe(element)
  return () => observer.disconnect()
}
