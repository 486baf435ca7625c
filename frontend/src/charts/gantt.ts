/** The last seconds: what each worker loads, and how the training loop waits for it. */
import type { SeriesPage, Timeline, TimelineBatch, TimelineStep } from '../api/schema'
import { type Scale, scaleOf, timeTicks } from './axes'
import { type Colour, LABEL_FONT, type Palette, palette } from './palette'
import { area, type Context, letters, line, outline } from './pen'
import type { Drawn } from './surface'

export interface Gantt {
  /** At most 2,000 batches and 240 steps: the service sends no more. */
  timeline: Timeline
  /** From the top downwards; `null`: batches loaded in the training process. */
  lanes: readonly (number | null)[]
  /** In which nothing was trained with the loader. */
  pauses?: readonly Pause[]
  laneLabel(worker: number | null): string
  loopLabel: string
  /** Seconds before the end of the timeline, as an axis label. */
  timeLabel(beforeS: number): string
}

export type Pause = Pick<SeriesPage['pauses'][number], 'start_us' | 'end_us' | 'label'>

/** From one instant of the timeline to a later one. */
export interface Stretch {
  fromUs: number
  toUs: number
}

/** The reader's state: the visible part, the span chosen by dragging, and the batch chosen by keyboard. */
export interface Attention {
  view: Stretch
  selected: Stretch | null
  pointed: TimelineBatch | null
}

/** CSS pixels. */
const LANE = 26
const BAR = 17
const LOOP_GAP = 10
const LOOP_BAR = 22
const BOTTOM = 26
/** Narrower bars carry no number, in CSS pixels. */
const NUMBER_ROOM = 44
/** Narrower bars are not drawn, in CSS pixels. */
const LEAST_WIDTH = 0.25
const NUMBER_FONT = '11px "Plex Sans", system-ui, sans-serif'

export function wholeOf({ timeline }: Gantt): Stretch {
  return { fromUs: timeline.from_us, toUs: timeline.to_us }
}

/** So many steps and their batches can be distinguished. */
const NEWEST_STEPS = 20

/** Everything, where what was loaded for these steps lies before them: a long queue, or the end of an epoch. */
export function newestOf(data: Gantt): Stretch {
  const { steps, batches } = data.timeline
  const whole = wholeOf(data)
  const fromUs = steps.at(-NEWEST_STEPS)?.start_us ?? whole.fromUs
  const loading = batches.filter(batch => batch.start_us + batch.load_us > fromUs)
  return loading.length < NEWEST_STEPS / 2 ? whole : { ...whole, fromUs }
}

/** `y` of its scale is the upper edge of a lane, by its place from the top; the training loop comes after the last one. */
export function gantt(data: Gantt, attention: Attention): Drawn {
  const height = data.lanes.length * LANE + LOOP_GAP + LOOP_BAR + BOTTOM
  return {
    height,
    scale: width => scaleFor(data, attention.view, width, height),
    draw(context, scale) {
      drawAxis(context, data, attention.view, scale)
      drawHandOvers(context, data, attention.view, scale)
      for (const batch of data.timeline.batches) drawBatch(context, data, batch, scale)
      for (const step of data.timeline.steps) drawStep(context, data, step, scale)
      for (const pause of data.pauses ?? []) drawPause(context, data, pause, scale)
      if (attention.selected) drawStretch(context, attention.selected, scale)
      if (attention.pointed) drawOutline(context, data, attention.pointed, scale)
    },
  }
}

/** Instants beyond the view lie at its edges. */
function scaleFor({ lanes }: Gantt, { fromUs, toUs }: Stretch, width: number, height: number): Scale {
  const sides = { left: width < 480 ? 84 : 92, right: 2 }
  const scale = scaleOf({ from: fromUs, to: toUs }, width, sides, [0, height - BOTTOM], () => 0)
  return {
    ...scale,
    x: us => Math.max(scale.left, Math.min(scale.right, scale.x(us))),
    y: lane => lane * LANE + (lane < lanes.length ? 0 : LOOP_GAP),
  }
}

function loopTop({ lanes }: Gantt, { y }: Scale): number {
  return y(lanes.length)
}

/** `null`: its worker has no lane here. */
function barTop({ lanes }: Gantt, { worker }: TimelineBatch, { y }: Scale): number | null {
  const lane = lanes.indexOf(worker)
  return lane < 0 ? null : y(lane) + (LANE - BAR) / 2
}

function drawAxis(context: Context, data: Gantt, { fromUs, toUs }: Stretch, scale: Scale): void {
  const endS = data.timeline.to_us / 1e6
  context.strokeStyle = palette().hair
  letters(context, 'ink-3')
  for (const beforeS of timeTicks(endS - toUs / 1e6, endS - fromUs / 1e6, scale.width - scale.left)) {
    const x = scale.x((endS - beforeS) * 1e6)
    context.textAlign = x > scale.width - 24 ? 'right' : 'center'
    line(context, x, 2, x, scale.bottom + 4)
    context.fillText(data.timeLabel(beforeS), x, scale.bottom + BOTTOM - 6)
  }
  letters(context, 'ink-2')
  data.lanes.forEach((worker, lane) => {
    context.fillText(data.laneLabel(worker), 0, scale.y(lane) + LANE / 2 + 4)
  })
  letters(context, 'ink', LABEL_FONT)
  context.fillText(data.loopLabel, 0, loopTop(data, scale) + LOOP_BAR / 2 + 4)
}

/** From a finished batch to the step that got it. */
function drawHandOvers(context: Context, data: Gantt, { fromUs, toUs }: Stretch, scale: Scale): void {
  const used = stepsByBatch(data.timeline)
  context.strokeStyle = palette()['ink-3']
  context.globalAlpha = 0.55
  context.lineWidth = 0.8
  for (const batch of data.timeline.batches) {
    const step = used.get(batchKey(batch))
    const top = barTop(data, batch, scale)
    if (!step || batch.worker === null || top === null) continue
    const [doneUs, gotUs] = [batch.start_us + batch.load_us, step.start_us + step.data_wait_us]
    if (doneUs < fromUs || gotUs > toUs) continue
    line(context, scale.x(doneUs), top + BAR, scale.x(gotUs), loopTop(data, scale))
  }
  context.globalAlpha = 1
  context.lineWidth = 1
}

/** The step that used each batch, by `batchKey`. */
export function stepsByBatch({ steps }: Pick<Timeline, 'steps'>): ReadonlyMap<string, TimelineStep> {
  return new Map(steps.map(step => [batchKey(step), step]))
}

export function batchKey(of: Pick<TimelineStep, 'epoch_index' | 'batch_index'>): string {
  return `${of.epoch_index}/${of.batch_index}`
}

/** The colours are shares of the bar and not in order of time, which was not recorded. What a batch waits for may be
 * unknown: of short ones a worker measures one in so many. */
function partsOf(batch: TimelineBatch): readonly (readonly [us: number, colour: Colour])[] {
  const cpuUs = batch.cpu_us ?? 0
  if (batch.runqueue_us === null)
    return [
      [cpuUs, 'load-cpu'],
      [batch.load_us - cpuUs, 'load'],
    ]
  return [
    [cpuUs, 'load-cpu'],
    [batch.runqueue_us, 'load-runqueue'],
    [batch.blocked_us ?? 0, 'load-blocked'],
  ]
}

function drawBatch(context: Context, data: Gantt, batch: TimelineBatch, scale: Scale): void {
  const top = barTop(data, batch, scale)
  const [from, to] = [scale.x(batch.start_us), scale.x(batch.start_us + batch.load_us)]
  if (top === null || to - from < LEAST_WIDTH) return
  const width = Math.max(0.5, to - from - 1)
  const parts = partsOf(batch)
  const whole = parts.reduce((sum, [us]) => sum + us, 0) || 1
  let left = from
  for (const [us, colour] of parts) {
    area(context, colour, [left, top, (width * us) / whole, BAR])
    left += (width * us) / whole
  }
  if (width < NUMBER_ROOM) return
  letters(context, 'ink', NUMBER_FONT)
  context.fillText(String(batch.batch_index), from + 6, top + BAR - 5)
}

/** A step that is not over lasts until the end of the timeline. */
function drawStep(context: Context, data: Gantt, step: TimelineStep, scale: Scale): void {
  const readyUs = step.start_us + step.data_wait_us
  const endUs = step.step_us === null ? data.timeline.to_us : step.start_us + step.step_us
  const top = loopTop(data, scale)
  const bar = (fromUs: number, toUs: number, fill: keyof Palette) => {
    const [from, to] = [scale.x(fromUs), scale.x(toUs)]
    if (to - from >= LEAST_WIDTH) area(context, fill, [from, top, Math.max(0.5, to - from - 0.6), LOOP_BAR])
  }
  bar(step.start_us, readyUs, 'hatch')
  bar(readyUs, endUs, 'compute-fill')
}

/** Over the rest of a step, which it is a part of, or between two. */
function drawPause(context: Context, data: Gantt, pause: Pause, scale: Scale): void {
  const [from, to] = [scale.x(pause.start_us), scale.x(pause.end_us)]
  if (to - from < LEAST_WIDTH) return
  const top = loopTop(data, scale)
  area(context, 'sunk', [from, top, to - from, LOOP_BAR])
  letters(context, 'ink-2', NUMBER_FONT)
  const width = context.measureText(pause.label).width
  if (width + 12 <= to - from) context.fillText(pause.label, (from + to - width) / 2, top + LOOP_BAR / 2 + 4)
}

function drawStretch(context: Context, { fromUs, toUs }: Stretch, scale: Scale): void {
  context.globalAlpha = 0.12
  area(context, 'ink', [scale.x(fromUs), 0, scale.x(toUs) - scale.x(fromUs), scale.bottom])
  context.globalAlpha = 1
}

function drawOutline(context: Context, data: Gantt, batch: TimelineBatch, scale: Scale): void {
  const top = barTop(data, batch, scale)
  if (top === null) return
  const from = scale.x(batch.start_us)
  outline(context, 'ink', 1.6, [from, top, scale.x(batch.start_us + batch.load_us) - from - 1, BAR])
}

/** What lies under a pixel of the canvas. */
export function targetAt(
  data: Gantt,
  scale: Scale,
  x: number,
  y: number,
): TimelineBatch | TimelineStep | null {
  const us = scale.at(x)
  if (us === null) return null
  const { batches, steps } = data.timeline
  const top = loopTop(data, scale)
  if (y >= top && y <= top + LOOP_BAR)
    return steps.find(step => step.start_us <= us && us < step.start_us + (step.step_us ?? Infinity)) ?? null
  const worker = data.lanes[Math.floor(y / LANE)]
  return (
    batches.find(
      batch => batch.worker === worker && batch.start_us <= us && us < batch.start_us + batch.load_us,
    ) ?? null
  )
}
