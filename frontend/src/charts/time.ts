/** A panel over run time: stacked areas or lines, epochs and events as lines, names beside the last values. */
import { annotate } from './annotate'
import { drawTimeGrid, drawValueGrid, type Scale, scaleOf, valueTicks } from './axes'
import type { Crosshair } from './crosshair'
import { type Drawing, mountDrawing, within } from './drawing'
import { gutters, type Mounted } from './frame'
import { palette } from './palette'
import type { Layer, TimePanel } from './panel'

export interface TimeDeps {
  crosshair: Crosshair
  /** The reader dragged over a span; without it a drag chooses none. */
  onZoom?: (fromS: number, toS: number) => void
}

/** Above and below the drawing: room for the names of marks, and for the labels of time. */
const TOP = { labelled: 20, bare: 8 }
const BOTTOM = { labelled: 24, bare: 6 }
/** Between two value ticks. */
const TICK_ROOM = { tall: 34, flat: 22 }

const DRAWING: Drawing<TimePanel> = {
  height: panel => panel.height,
  scale: panelScale,
  draw: drawPanel,
}

export function mountTime(element: HTMLElement, first: TimePanel, deps: TimeDeps): Mounted<TimePanel> {
  return mountDrawing(element, first, DRAWING, deps)
}

function panelScale(panel: TimePanel, width: number): Scale {
  const kind = panel.hasTimeLabels ? 'labelled' : 'bare'
  const sides = [TOP[kind], panel.height - BOTTOM[kind]] as const
  return scaleOf(panel, width, gutters(width), sides, value => value / panel.top)
}

function drawPanel(context: CanvasRenderingContext2D, panel: TimePanel, scale: Scale): void {
  const height = scale.bottom - scale.top
  const ticks = panel.ticks ?? valueTicks(panel.top, height, TICK_ROOM[panel.height > 150 ? 'tall' : 'flat'])
  drawTimeGrid(context, scale, panel, panel.hasTimeLabels)
  drawValueGrid(context, scale, ticks, value => panel.tick(value, ticks.at(-1) ?? value))
  within(context, scale, () => {
    panel.layers.forEach((layer, index) => {
      drawLayer(context, panel, layer, panel.isOverlaid ? undefined : panel.layers[index + 1], scale)
    })
  })
  annotate(context, panel, scale)
}

function drawLayer(
  context: CanvasRenderingContext2D,
  { atS, layers }: TimePanel,
  layer: Layer,
  below: Layer | undefined,
  { x, y }: Scale,
): void {
  context.lineWidth = layers.length > 1 && layer.fill ? 0.5 : 1.3
  context.strokeStyle = palette()[layer.stroke]
  for (const [from, to] of spans(layer.values)) {
    const upper = new Path2D()
    for (let index = from; index < to; index += 1)
      upper.lineTo(x(atS[index] ?? 0), y(layer.values[index] ?? 0))
    if (layer.fill) {
      const area = new Path2D(upper)
      for (let index = to - 1; index >= from; index -= 1)
        area.lineTo(x(atS[index] ?? 0), y(below?.values[index] ?? 0))
      context.fillStyle = palette()[layer.fill]
      context.fill(area)
    }
    context.setLineDash(layer.isDashed ? [5, 3] : [])
    context.stroke(upper)
  }
  context.setLineDash([])
}

/** Stretches of values that were measured, as `[from, to)`: nothing is drawn across what was not. */
export function spans(values: readonly (number | null)[]): readonly (readonly [number, number])[] {
  const found: [number, number][] = []
  values.forEach((value, index) => {
    if (value === null) return
    const last = found.at(-1)
    if (last?.[1] === index) last[1] = index + 1
    else found.push([index, index + 1])
  })
  return found
}
