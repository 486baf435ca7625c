/** A panel over run time, by uPlot: stacked areas or one line, epochs as lines, names beside the last values. */
import uPlot from 'uplot'
import 'uplot/dist/uPlot.min.css'
import { annotate } from './annotate'
import type { Crosshair } from './crosshair'
import { gutters, type Mounted, onFonts, onResize, TIME_SPACE, TIME_STEPS, timeLabel } from './frame'
import { FONT, onRepaint, palette } from './palette'
import type { Layer, TimePanel } from './panel'

export interface TimeDeps {
  crosshair: Crosshair
  /** The reader dragged over a span. */
  onZoom(fromS: number, toS: number): void
}

/** A drag shorter than this is a click. */
const DRAG_PX = 6

export function mountTime(element: HTMLElement, first: TimePanel, deps: TimeDeps): Mounted<TimePanel> {
  let panel = first
  let plot = create()
  const stops = [
    onRepaint(() => plot.redraw(false)),
    onFonts(() => plot.redraw(false)),
    onResize(element, rebuild),
    deps.crosshair.subscribe(showCrosshair),
  ]

  function create(): uPlot {
    return new uPlot(
      options(() => panel, element.clientWidth, deps),
      aligned(panel),
      element,
    )
  }

  function rebuild(): void {
    plot.destroy()
    plot = create()
  }

  function showCrosshair(atS: number | null): void {
    const left = atS === null ? -10 : plot.valToPos(atS, 'x')
    plot.setCursor({ left, top: atS === null ? -10 : 0 }, false)
  }

  return {
    update(next) {
      const sameShape = next.layers.length === panel.layers.length && next.height === panel.height
      panel = next
      if (sameShape) plot.setData(aligned(panel))
      else rebuild()
    },
    destroy() {
      for (const stop of stops) stop()
      plot.destroy()
    },
  }
}

function aligned(panel: TimePanel): uPlot.AlignedData {
  return [panel.atS, ...panel.layers.map(layer => layer.values)] as unknown as uPlot.AlignedData
}

function options(panel: () => TimePanel, width: number, deps: TimeDeps): uPlot.Options {
  const { left, right } = gutters(width)
  const shape = panel()
  return {
    width,
    height: shape.height,
    padding: [shape.hasTimeLabels ? 20 : 8, right, 0, 0],
    legend: { show: false },
    scales: {
      x: { time: false, range: () => [panel().fromS, panel().toS] },
      y: { range: () => [0, panel().top] },
    },
    axes: [timeAxis(panel), valueAxis(panel, left)],
    series: [{}, ...shape.layers.map((_, index) => layerSeries(panel, index))],
    bands: shape.layers.slice(1).flatMap((_, index) => layerBand(panel, index)),
    cursor: {
      y: false,
      points: { show: false },
      drag: { x: true, y: false, setScale: false },
    },
    hooks: {
      ready: [plot => plot.over.addEventListener('mouseleave', () => deps.crosshair.move(null))],
      setCursor: [plot => follow(plot, deps.crosshair)],
      setSelect: [plot => zoom(plot, deps)],
      draw: [plot => annotate(plot, panel())],
    },
  }
}

/** Only the chart under the pointer moves the crosshair; the others are moved by it. */
function follow(plot: uPlot, crosshair: Crosshair): void {
  if (!plot.over.matches(':hover')) return
  const left = plot.cursor.left ?? -1
  crosshair.move(left < 0 ? null : plot.posToVal(left, 'x'))
}

function zoom(plot: uPlot, deps: TimeDeps): void {
  const { left, width } = plot.select
  plot.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false)
  if (width >= DRAG_PX) deps.onZoom(plot.posToVal(left, 'x'), plot.posToVal(left + width, 'x'))
}

function timeAxis(panel: () => TimePanel): uPlot.Axis {
  return {
    stroke: () => palette()['ink-3'],
    font: FONT,
    size: panel().hasTimeLabels ? 24 : 6,
    gap: 4,
    incrs: [...TIME_STEPS],
    space: TIME_SPACE,
    grid: { stroke: () => palette().hair, width: 1 },
    ticks: { show: false },
    values: (_plot, splits) =>
      panel().hasTimeLabels
        ? splits.map(at => timeLabel(at, panel().toS, panel().startLabel))
        : splits.map(() => ''),
  }
}

function valueAxis(panel: () => TimePanel, size: number): uPlot.Axis {
  return {
    stroke: () => palette()['ink-3'],
    font: FONT,
    size,
    gap: 8,
    space: panel().height > 150 ? 34 : 22,
    grid: { stroke: () => palette().hair, width: 1 },
    ticks: { show: false },
    ...(panel().ticks ? { splits: () => [...(panel().ticks ?? [])] } : {}),
    values: (_plot, splits) => splits.map(value => panel().tick(value, splits.at(-1) ?? value)),
  }
}

function layerSeries(panel: () => TimePanel, index: number): uPlot.Series {
  const layer = () => panel().layers[index] as Layer
  const isLowest = index === panel().layers.length - 1
  const paths = panel().isStepped ? uPlot.paths.stepped?.({ align: 1 }) : undefined
  return {
    stroke: () => palette()[layer().stroke],
    width: panel().layers.length > 1 ? 0.5 : 1.3,
    points: { show: false },
    ...(paths ? { paths } : {}),
    ...(isLowest && layer().fill ? { fill: () => fillOf(layer()) } : {}),
  }
}

/** `series` is `[upper, lower]`: the other way round uPlot draws nothing, without a word. */
function layerBand(panel: () => TimePanel, index: number): uPlot.Band[] {
  const layer = panel().layers[index]
  return layer?.fill
    ? [{ series: [index + 1, index + 2], fill: () => fillOf(panel().layers[index] as Layer) }]
    : []
}

function fillOf(layer: Layer): string | CanvasPattern {
  return layer.fill ? palette()[layer.fill] : 'transparent'
}
