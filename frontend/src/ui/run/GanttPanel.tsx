/** Show me: the last seconds, worker by worker, and the training loop below them. */

import { useSignal } from '@preact/signals'
import { useMemo, useRef } from 'preact/hooks'
import type { Timeline, TimelineBatch, TimelineStep } from '../../api/names'
import { type Gantt, type GanttHandle, mountGantt, type Stretch } from '../../charts/gantt'
import type { Table } from '../../csv'
import { asSentence, formatDuration, formatFraction, formatNumber } from '../../format'
import type { Still } from '../../store/run'
import { gantt as say, workers } from '../../text/charts'
import { Chart } from '../parts/Chart'
import { DataTable } from '../parts/DataTable'
import { Panel } from '../parts/Panel'

/** More lanes than this are no picture any more; the worker panel has all of them. */
const LANES = 16
const TABLE_ROWS = 40

export function GanttPanel({ timeline, run }: { timeline: Timeline | null; run: Still }) {
  const handle = useRef<GanttHandle | null>(null)
  const pointed = useSignal<TimelineBatch | TimelineStep | null>(null)
  const selected = useSignal<Stretch | null>(null)
  const mount = useMemo(
    () => (element: HTMLElement, data: Gantt) =>
      mountGantt(element, data, {
        onPoint: target => (pointed.value = target),
        onSelect: stretch => (selected.value = stretch),
      }),
    [pointed, selected],
  )
  const workersSeen = useMemo(() => lanesOf(timeline), [timeline])
  const data = useMemo(
    () => timeline && ganttOf(timeline, workersSeen.slice(0, LANES)),
    [timeline, workersSeen],
  )
  if (!timeline || !data) return null
  const span = formatDuration(wholeSeconds(timeline.to_us - timeline.from_us))
  const rest = workersSeen.length > LANES ? `${say.split} ${say.more(workersSeen.length - LANES)}` : say.split
  if (timeline.steps.length === 0) {
    return timeline.missing ? (
      <Panel title={say.title(span)}>
        <p class="missing">{asSentence(timeline.missing)}</p>
      </Panel>
    ) : null
  }
  return (
    <Panel
      title={say.title(span)}
      detail={<Legend gpus={run.gpus} />}
      controls={<Keys />}
      name="timeline"
      table={() => <TimelineTable timeline={timeline} />}
      csv={() => figures(timeline)}
      class="timeline"
    >
      {/* biome-ignore lint/a11y/useSemanticElements: no element means "keys move what is drawn here" */}
      <div
        class="gantt"
        role="group"
        aria-label={say.label(workersSeen.filter(worker => worker !== null).length, span)}
        // biome-ignore lint/a11y/noNoninteractiveTabindex: its keys zoom and pan
        tabIndex={0}
        onKeyDown={event => press(event, handle.current)}
      >
        <Chart
          mount={mount}
          data={data}
          label={say.split}
          onMounted={mounted => (handle.current = mounted)}
        />
      </div>
      <p class="detail readout" aria-live="polite">
        {selected.value
          ? stretchText(timeline, selected.value, run.gpus)
          : pointed.value
            ? pointedText(pointed.value)
            : rest}
      </p>
    </Panel>
  )
}

/** The window is cut at steps and so a little longer than asked for. */
function wholeSeconds(us: number): number {
  return us < 1e6 ? us : Math.round(us / 1e6) * 1e6
}

function lanesOf(timeline: Timeline | null): readonly (number | null)[] {
  return [...new Set(timeline?.batches.map(batch => batch.worker))].sort((a, b) => (a ?? -1) - (b ?? -1))
}

function ganttOf(timeline: Timeline, lanes: readonly (number | null)[]): Gantt {
  return {
    timeline,
    lanes,
    laneLabel: worker => (worker === null ? say.loading : workers.name(worker)),
    loopLabel: say.loop,
    timeLabel: beforeS => (beforeS === 0 ? say.end : `−${formatNumber(beforeS)} s`),
  }
}

function press(event: KeyboardEvent, handle: GanttHandle | null): void {
  const keys: Record<string, () => void> = {
    w: () => handle?.zoom(0.7),
    s: () => handle?.zoom(1 / 0.7),
    a: () => handle?.pan(-0.2),
    d: () => handle?.pan(0.2),
    f: () => handle?.fit(),
    '.': () => handle?.step(1),
    ',': () => handle?.step(-1),
  }
  const action = keys[event.key]
  if (!action || event.ctrlKey || event.metaKey || event.altKey) return
  event.preventDefault()
  action()
}

/** What was drawn over, in figures: steps are cut where the stretch cuts them. */
export function stretchText(
  timeline: Pick<Timeline, 'steps' | 'to_us'>,
  { fromUs, toUs }: Stretch,
  gpus: number | null,
): string {
  const cut = (from: number, to: number) => Math.max(0, Math.min(to, toUs) - Math.max(from, fromUs))
  const waits = timeline.steps.map(step => cut(step.start_us, step.start_us + step.data_wait_us))
  const begun = timeline.steps.filter(step => step.start_us >= fromUs && step.start_us < toUs).length
  const waitUs = waits.reduce((sum, us) => sum + us, 0)
  const share = formatFraction(waitUs / (toUs - fromUs))
  return say.stretch(formatDuration(toUs - fromUs), begun, formatDuration(waitUs), share, gpus)
}

function pointedText(target: TimelineBatch | TimelineStep): string {
  if ('data_wait_us' in target) {
    const whole = target.step_us === null ? say.open : formatDuration(target.step_us)
    const idle = target.gpu_idle_us === null ? null : formatDuration(target.gpu_idle_us)
    return say.step(target.step_index, formatDuration(target.data_wait_us), whole, idle)
  }
  const parts = [
    [target.cpu_us, say.cpu],
    [target.runqueue_us, say.runqueue],
    [target.blocked_us, say.blocked],
  ] as const
  const split = parts.flatMap(([us, name]) => (us === null ? [] : [`${formatDuration(us)} ${name}`]))
  const lane = workers.name(target.worker)
  const pinned = target.pin_us === null ? [] : [say.pinned(formatDuration(target.pin_us))]
  return [say.batch(target.batch_index, lane, formatDuration(target.load_us)), ...split, ...pinned].join(', ')
}

function Legend({ gpus }: { gpus: number | null }) {
  const entries = [
    ['cpu', say.cpu],
    ['runqueue', say.runqueue],
    ['blocked', say.blocked],
    ['wait', say.waits(gpus)],
    ['compute', say.rest],
  ] as const
  return (
    <span class="legend">
      {entries.map(([kind, name]) => (
        <span key={kind}>
          <i class={kind} aria-hidden="true" />
          {name}
        </span>
      ))}
    </span>
  )
}

function Keys() {
  return (
    <span class="detail wide-only">
      <kbd>w</kbd> <kbd>s</kbd> {say.zoom} <kbd>a</kbd> <kbd>d</kbd> {say.pan} <kbd>,</kbd> <kbd>.</kbd>{' '}
      {say.nextBatch} <kbd>f</kbd> {say.fit}
    </span>
  )
}

function figures({ batches, steps }: Timeline): Table {
  const used = new Map(steps.map(step => [`${step.epoch_index}/${step.batch_index}`, step]))
  const columns = [
    ...(['epoch_index', 'batch_index', 'worker', 'start_us', 'load_us'] as const),
    ...(['cpu_us', 'runqueue_us', 'blocked_us', 'collate_us', 'pin_us', 'received_us'] as const),
  ] as const
  const rows = batches.map(batch => {
    const step = used.get(`${batch.epoch_index}/${batch.batch_index}`)
    return [...columns.map(name => batch[name]), step?.step_index ?? null, step?.data_wait_us ?? null]
  })
  return { columns: [...columns, 'step_index', 'data_wait_us'], rows }
}

function TimelineTable({ timeline }: { timeline: Timeline }) {
  const waits = new Map(
    timeline.steps.map(step => [`${step.epoch_index}/${step.batch_index}`, step.data_wait_us]),
  )
  const rows = timeline.batches
    .slice(-TABLE_ROWS)
    .map(batch => [
      String(batch.batch_index),
      workers.name(batch.worker),
      `−${formatDuration(timeline.to_us - batch.start_us)}`,
      formatDuration(batch.load_us),
      formatDuration(batch.cpu_us),
      formatDuration(batch.runqueue_us),
      formatDuration(batch.blocked_us),
      formatDuration(batch.pin_us),
      formatDuration(waits.get(`${batch.epoch_index}/${batch.batch_index}`) ?? null),
    ])
  return <DataTable caption={say.what} columns={Object.values(say.columns)} rows={rows} isNumeric />
}
