/** The mounted timeline: zoom, pan, a stretch that is chosen by dragging, and steps from batch to batch. */
import type { TimelineBatch, TimelineStep } from '../api/schema'
import { type Attention, type Gantt, gantt, newestOf, type Stretch, targetAt, wholeOf } from './gantt'
import type { Mounted } from './mount'
import { DRAG_PX } from './pointing'
import { createSurface } from './surface'

export interface GanttListener {
  onPoint(target: TimelineBatch | TimelineStep | null): void
  /** A stretch of time was chosen by dragging; `null`: it was cleared. */
  onSelect(stretch: Stretch | null): void
}

export interface GanttHandle extends Mounted<Gantt> {
  /** A factor below 1 zooms in. */
  zoom(factor: number): void
  /** By shares of what is visible. */
  pan(share: number): void
  fit(): void
  /** Points at the batch whose loading began next, or before. */
  step(by: 1 | -1): void
}

const NARROWEST_US = 20_000

export function mountGantt(element: HTMLElement, first: Gantt, listener: GanttListener): GanttHandle {
  let data = first
  /** `null`: the newest steps, following new data. */
  let view: Stretch | null = null
  let selected: Stretch | null = null
  let pointed: TimelineBatch | null = null
  let drag: { x: number; us: number } | null = null

  const visible = () => view ?? newestOf(data)
  const drawn = () => gantt(data, { view: visible(), selected, pointed } satisfies Attention)
  const scale = () => drawn().scale(surface.width())
  const surface = createSurface(
    element,
    () => drawn().height,
    context => drawn().draw(context, scale()),
  )

  function show(fromUs: number, toUs: number): void {
    const whole = wholeOf(data)
    const longest = whole.toUs - whole.fromUs
    const span = Math.max(NARROWEST_US, Math.min(longest, toUs - fromUs))
    const start = Math.max(whole.fromUs, Math.min(whole.toUs - span, fromUs))
    view = { fromUs: start, toUs: start + span }
    surface.redraw()
  }
  function select(stretch: Stretch | null): void {
    selected = stretch
    listener.onSelect(stretch)
    surface.redraw()
  }
  /** The instant under a pixel, limited to what is visible. */
  function instant(x: number): number {
    const { left, right, at } = scale()
    return at(Math.max(left, Math.min(right, x))) ?? 0
  }

  const { canvas } = surface
  canvas.onpointerdown = event => {
    if (event.offsetX < scale().left || event.button !== 0) return
    canvas.setPointerCapture(event.pointerId)
    drag = { x: event.offsetX, us: instant(event.offsetX) }
    if (selected) select(null)
  }
  canvas.onpointermove = event => {
    if (drag === null) return listener.onPoint(targetAt(data, scale(), event.offsetX, event.offsetY))
    if (Math.abs(event.offsetX - drag.x) < DRAG_PX) return
    const here = instant(event.offsetX)
    select({ fromUs: Math.min(drag.us, here), toUs: Math.max(drag.us, here) })
  }
  canvas.onpointerup = () => {
    drag = null
  }
  canvas.onpointerleave = () => listener.onPoint(null)
  surface.redraw()

  return {
    update(next) {
      // While the reader looks at a part, it does not move.
      if (next === data || view !== null || selected !== null || pointed !== null) return
      data = next
      surface.redraw()
    },
    zoom(factor) {
      const { fromUs, toUs } = visible()
      const [middle, half] = [(fromUs + toUs) / 2, ((toUs - fromUs) * factor) / 2]
      show(middle - half, middle + half)
    },
    pan(share) {
      const { fromUs, toUs } = visible()
      show(fromUs + share * (toUs - fromUs), toUs + share * (toUs - fromUs))
    },
    fit() {
      view = wholeOf(data)
      pointed = null
      select(null)
    },
    step(by) {
      const batches = data.timeline.batches.toSorted((a, b) => a.start_us - b.start_us)
      const here = pointed ? batches.indexOf(pointed) + by : by > 0 ? 0 : batches.length - 1
      pointed = batches[Math.max(0, Math.min(batches.length - 1, here))] ?? null
      listener.onPoint(pointed)
      const { fromUs, toUs } = visible()
      if (pointed && (pointed.start_us < fromUs || pointed.start_us > toUs)) {
        const half = (toUs - fromUs) / 2
        show(pointed.start_us - half, pointed.start_us + half)
      } else surface.redraw()
    },
    destroy: surface.destroy,
  }
}
