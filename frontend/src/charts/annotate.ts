/** What is written over a panel: epochs as lines, and each layer's name beside its newest value. */
import type uPlot from 'uplot'
import { spread } from './frame'
import { FONT, LABEL_FONT, palette } from './palette'
import type { TimePanel } from './panel'

const LABEL_ROOM = 15
/** Between two epoch names. */
const MARK_ROOM = 64
/** Lines this close are a texture: they step back. */
const MANY_MARKS = 30

export function annotate(plot: uPlot, panel: TimePanel): void {
  const context = plot.ctx
  context.save()
  context.scale(devicePixelRatio, devicePixelRatio)
  const box = {
    left: plot.bbox.left / devicePixelRatio,
    top: plot.bbox.top / devicePixelRatio,
    width: plot.bbox.width / devicePixelRatio,
    height: plot.bbox.height / devicePixelRatio,
  }
  drawMarks(context, plot, panel, box)
  drawLabels(context, plot, panel, box)
  context.restore()
}

interface Box {
  left: number
  top: number
  width: number
  height: number
}

function drawMarks(context: CanvasRenderingContext2D, plot: uPlot, panel: TimePanel, box: Box): void {
  context.strokeStyle = palette()['ink-2']
  context.fillStyle = palette()['ink-2']
  context.font = FONT
  context.textAlign = 'left'
  context.textBaseline = 'alphabetic'
  context.lineWidth = 1
  context.setLineDash([2, 2])
  let free = box.left
  for (const mark of panel.marks) {
    const left = box.left + plot.valToPos(mark.atS, 'x')
    if (left < box.left || left > box.left + box.width) continue
    context.globalAlpha = panel.marks.length > MANY_MARKS ? 0.3 : 0.7
    context.beginPath()
    context.moveTo(left, box.top)
    context.lineTo(left, box.top + box.height)
    context.stroke()
    context.globalAlpha = 1
    if (!panel.hasTimeLabels || left < free || left > box.left + box.width - 30) continue
    context.fillText(mark.label, left, box.top - 7)
    free = left + MARK_ROOM
  }
  context.setLineDash([])
  if (panel.topLabel) {
    context.textAlign = 'right'
    context.fillText(panel.topLabel, box.left + box.width, box.top - 7)
    context.textAlign = 'left'
  }
}

function drawLabels(context: CanvasRenderingContext2D, plot: uPlot, panel: TimePanel, box: Box): void {
  const named = panel.layers.flatMap((layer, index) => {
    const value = labelHeight(panel, index)
    return layer.label === null || value === null ? [] : [{ layer, top: plot.valToPos(value, 'y') }]
  })
  const tops = spread(
    named.map(({ top }) => Math.min(Math.max(top, 6), box.height - 4)),
    LABEL_ROOM,
  )
  context.font = LABEL_FONT
  named.forEach(({ layer }, index) => {
    context.fillStyle = palette()[layer.labelColour]
    context.fillText(layer.label ?? '', box.left + box.width + 8, box.top + (tops[index] ?? 0) + 4)
  })
}

/** A line is named at its last value, a stacked layer in the middle of its own part. */
function labelHeight(panel: TimePanel, index: number): number | null {
  const at = panel.layers[index]?.values.findLastIndex(value => value !== null) ?? -1
  if (at < 0) return null
  const own = Math.min(panel.layers[index]?.values[at] ?? 0, panel.top)
  if (panel.layers.length === 1) return own
  const below = panel.layers[index + 1]?.values[at] ?? 0
  return (own + Math.min(below, panel.top)) / 2
}
