/** The last seconds: what each worker loads, and how the training loop waits for it. */
import type { Timeline, TimelineBatch, TimelineStep } from '../api/names'
import { line } from './axes'
import { createSurface, type Mounted, timeTicks } from './frame'
import { FONT, LABEL_FONT, palette } from './palette'

export interface Gantt {
  timeline: Timeline
  /** `null`: batches loaded in the training process. */
  lanes: readonly (number | null)[]
  laneLabel(worker: number | null): string
  loopLabel: string
  /** Seconds before the end of the timeline, as an axis label. */
  timeLabel(beforeS: number): string
}

export interface GanttDeps {
  onPoint(target: TimelineBatch | TimelineStep | null): void
  /** A stretch of time was drawn over; `null`: it was let go. */
  onSelect(stretch: Stretch | null): void
}

export interface Stretch {
  fromUs: number
  toUs: number
}

export interface GanttHandle extends Mounted<Gantt> {
  zoom(factor: number): void
  /** By shares of what is visible. */
  pan(share: number): void
  fit(): void
  /** To the batch of which loading began next, or before: it is pointed at. */
  step(by: 1 | -1): void
}

const LANE = 26
const BAR = 17
const LOOP_GAP = 10
const LOOP_BAR = 22
const BOTTOM = 26
/** Narrower bars carry no number. */
const NUMBER_ROOM = 44
const NARROWEST_US = 20_000
/** A shorter drag is a click. */
const DRAG_PX = 5

export function mountGantt(element: HTMLElement, first: Gantt, deps: GanttDeps): GanttHandle {
  let data = first
  /** `null`: everything, and it moves on with new data. */
  let view: { fromUs: number; toUs: number } | null = null
  let selected: Stretch | null = null
  let dragFromUs: number | null = null
  let pointed: TimelineBatch | null = null
  const surface = createSurface(element, height, draw)

  function height(): number {
    return data.lanes.length * LANE + LOOP_GAP + LOOP_BAR + BOTTOM
  }
  function visible(): { fromUs: number; toUs: number } {
    return view ?? { fromUs: data.timeline.from_us, toUs: data.timeline.to_us }
  }
  function left(): number {
    return surface.width() < 480 ? 84 : 92
  }
  function x(us: number): number {
    const { fromUs, toUs } = visible()
    const at = left() + ((surface.width() - left() - 2) * (us - fromUs)) / (toUs - fromUs)
    return Math.max(left(), Math.min(surface.width() - 2, at))
  }
  const laneTop = (batch: TimelineBatch): number => data.lanes.indexOf(batch.worker) * LANE + (LANE - BAR) / 2
  const loopTop = (): number => data.lanes.length * LANE + LOOP_GAP

  function draw(context: CanvasRenderingContext2D): void {
    drawAxis(context)
    drawHandOvers(context)
    for (const batch of data.timeline.batches)
      if (data.lanes.includes(batch.worker)) drawBatch(context, batch)
    for (const step of data.timeline.steps) drawStep(context, step)
    if (selected) drawStretch(context, selected)
    if (pointed) drawOutline(context, pointed)
  }

  function drawStretch(context: CanvasRenderingContext2D, { fromUs, toUs }: Stretch): void {
    context.fillStyle = palette().ink
    context.globalAlpha = 0.12
    context.fillRect(x(fromUs), 0, x(toUs) - x(fromUs), height() - BOTTOM)
    context.globalAlpha = 1
  }

  function drawOutline(context: CanvasRenderingContext2D, batch: TimelineBatch): void {
    const from = x(batch.start_us)
    context.strokeStyle = palette().ink
    context.lineWidth = 1.6
    context.strokeRect(from, laneTop(batch), x(batch.start_us + batch.load_us) - from - 1, BAR)
    context.lineWidth = 1
  }

  function drawAxis(context: CanvasRenderingContext2D): void {
    const { fromUs, toUs } = visible()
    const end = data.timeline.to_us / 1e6
    context.font = FONT
    context.strokeStyle = palette().hair
    for (const beforeS of timeTicks(end - toUs / 1e6, end - fromUs / 1e6, surface.width() - left())) {
      const at = x((end - beforeS) * 1e6)
      context.fillStyle = palette()['ink-3']
      context.textAlign = at > surface.width() - 24 ? 'right' : 'center'
      line(context, at, 2, at, height() - BOTTOM + 4)
      context.fillText(data.timeLabel(beforeS), at, height() - 6)
    }
    context.textAlign = 'left'
    context.fillStyle = palette()['ink-2']
    data.lanes.forEach((worker, index) => {
      context.fillText(data.laneLabel(worker), 0, index * LANE + LANE / 2 + 4)
    })
    context.font = LABEL_FONT
    context.fillStyle = palette().ink
    context.fillText(data.loopLabel, 0, loopTop() + LOOP_BAR / 2 + 4)
  }

  /** Shares of the bar, not an order in time: what the worker did when was not recorded. */
  function drawBatch(context: CanvasRenderingContext2D, batch: TimelineBatch): void {
    const [from, to] = [x(batch.start_us), x(batch.start_us + batch.load_us)]
    if (to - from < 0.3) return
    const parts = [batch.cpu_us ?? batch.load_us, batch.runqueue_us ?? 0, batch.blocked_us ?? 0]
    const all = parts.reduce((sum, part) => sum + part, 0) || 1
    const colours = [palette()['load-cpu'], palette()['load-runqueue'], palette()['load-blocked']]
    const width = Math.max(0.5, to - from - 1)
    let at = from
    parts.forEach((part, index) => {
      context.fillStyle = colours[index] ?? ''
      context.fillRect(at, laneTop(batch), (width * part) / all, BAR)
      at += (width * part) / all
    })
    if (width < NUMBER_ROOM) return
    context.font = '11px "Plex Sans", system-ui, sans-serif'
    context.fillStyle = palette().ink
    context.fillText(String(batch.batch_index), from + 6, laneTop(batch) + BAR - 5)
  }

  function drawStep(context: CanvasRenderingContext2D, step: TimelineStep): void {
    const ready = step.start_us + step.data_wait_us
    const end = step.start_us + (step.step_us ?? data.timeline.to_us - step.start_us)
    bar(context, x(step.start_us), x(ready), palette().hatch)
    bar(context, x(ready), x(Math.max(ready, end)), palette()['compute-fill'])
  }

  function bar(
    context: CanvasRenderingContext2D,
    from: number,
    to: number,
    fill: string | CanvasPattern,
  ): void {
    if (to - from < 0.2) return
    context.fillStyle = fill
    context.fillRect(from, loopTop(), Math.max(0.5, to - from - 0.6), LOOP_BAR)
  }

  /** From a finished batch to the step that got it. */
  function drawHandOvers(context: CanvasRenderingContext2D): void {
    const used = new Map(data.timeline.steps.map(step => [`${step.epoch_index}/${step.batch_index}`, step]))
    context.strokeStyle = palette()['ink-3']
    context.globalAlpha = 0.55
    context.lineWidth = 0.8
    const { fromUs, toUs } = visible()
    for (const batch of data.timeline.batches) {
      const step = used.get(`${batch.epoch_index}/${batch.batch_index}`)
      const done = batch.start_us + batch.load_us
      if (!step || batch.worker === null || !data.lanes.includes(batch.worker)) continue
      const got = step.start_us + step.data_wait_us
      if (done < fromUs || got > toUs) continue
      line(context, x(done), laneTop(batch) + BAR, x(got), loopTop())
    }
    context.globalAlpha = 1
    context.lineWidth = 1
  }

  function instant(offsetX: number): number {
    const { fromUs, toUs } = visible()
    const share = (offsetX - left()) / (surface.width() - left() - 2)
    return fromUs + Math.max(0, Math.min(1, share)) * (toUs - fromUs)
  }

  function target(offsetX: number, offsetY: number): TimelineBatch | TimelineStep | null {
    const us = instant(offsetX)
    if (offsetX < left()) return null
    if (offsetY >= loopTop() && offsetY <= loopTop() + LOOP_BAR) {
      return (
        data.timeline.steps.find(
          step => step.start_us <= us && us < step.start_us + (step.step_us ?? Infinity),
        ) ?? null
      )
    }
    const worker = data.lanes[Math.floor(offsetY / LANE)]
    const under = (batch: TimelineBatch) => batch.start_us <= us && us < batch.start_us + batch.load_us
    return data.timeline.batches.find(batch => batch.worker === worker && under(batch)) ?? null
  }

  function show(fromUs: number, toUs: number): void {
    const { from_us, to_us } = data.timeline
    const span = Math.max(NARROWEST_US, Math.min(to_us - from_us, toUs - fromUs))
    const start = Math.max(from_us, Math.min(to_us - span, fromUs))
    view = span >= to_us - from_us ? null : { fromUs: start, toUs: start + span }
    surface.redraw()
  }

  function select(stretch: Stretch | null): void {
    selected = stretch
    deps.onSelect(stretch)
    surface.redraw()
  }

  const { canvas } = surface
  let dragFromX = 0
  canvas.onpointerdown = event => {
    if (event.offsetX < left() || event.button !== 0) return
    canvas.setPointerCapture(event.pointerId)
    dragFromX = event.offsetX
    dragFromUs = instant(event.offsetX)
    if (selected) select(null)
  }
  canvas.onpointermove = event => {
    if (dragFromUs === null) return deps.onPoint(target(event.offsetX, event.offsetY))
    const here = instant(event.offsetX)
    if (Math.abs(event.offsetX - dragFromX) >= DRAG_PX)
      select({ fromUs: Math.min(dragFromUs, here), toUs: Math.max(dragFromUs, here) })
  }
  canvas.onpointerup = () => {
    dragFromUs = null
  }
  canvas.onpointerleave = () => deps.onPoint(null)
  surface.redraw()

  return {
    update(next) {
      // What is looked at stays where it is.
      if (next === data || view !== null || selected !== null || pointed !== null) return
      data = next
      surface.redraw()
    },
    zoom(factor) {
      const { fromUs, toUs } = visible()
      const half = ((toUs - fromUs) * factor) / 2
      show((fromUs + toUs) / 2 - half, (fromUs + toUs) / 2 + half)
    },
    pan(share) {
      const { fromUs, toUs } = visible()
      show(fromUs + share * (toUs - fromUs), toUs + share * (toUs - fromUs))
    },
    fit() {
      view = null
      pointed = null
      select(null)
    },
    step(by) {
      const batches = data.timeline.batches.toSorted((a, b) => a.start_us - b.start_us)
      const here = pointed ? batches.indexOf(pointed) + by : by > 0 ? 0 : batches.length - 1
      pointed = batches[Math.max(0, Math.min(batches.length - 1, here))] ?? null
      deps.onPoint(pointed)
      const { fromUs, toUs } = visible()
      if (pointed && (pointed.start_us < fromUs || pointed.start_us > toUs))
        show(pointed.start_us - (toUs - fromUs) / 2, pointed.start_us + (toUs - fromUs) / 2)
      else surface.redraw()
    },
    destroy: surface.destroy,
  }
}
