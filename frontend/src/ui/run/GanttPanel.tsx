/** The last seconds as a timeline: worker by worker, and the training loop below them. */
import { useMemo } from 'preact/hooks'
import type { SeriesPage, Timeline, TimelineBatch } from '../../api/schema'
import { batchKey, type Gantt, gantt, newestOf, type Stretch, stepsByBatch } from '../../charts/gantt'
import { chart, legend, paragraph } from '../../charts/picture'
import { asSentence, formatDuration, formatFraction, formatNumber } from '../../format'
import type { Still } from '../../store/run'
import { gantt as say, workers } from '../../text/charts'
import { run as parts } from '../../text/run'
import { type FigureColumn, figuresOf } from '../parts/figures'
import { Legend } from '../parts/Legend'
import { isNarrow } from '../parts/media'
import { Panel } from '../parts/Panel'
import { GanttChart, type Pointed } from './GanttChart'

/** Most lanes that can be distinguished; the worker panel has all of them. */
const LANES = 16
const TABLE_ROWS = 40

interface GanttPanelProps {
  timeline: Timeline | null
  /** Of the same rank and loader it has what the program did beside training. */
  series: SeriesPage | null
  run: Still
}

export function GanttPanel({ timeline, series, run }: GanttPanelProps) {
  const workersSeen = useMemo(() => lanesOf(timeline), [timeline])
  const data = useMemo(
    () =>
      timeline && { ...ganttOf(timeline, workersSeen.slice(0, LANES)), pauses: pausesOf(timeline, series) },
    [timeline, workersSeen, series],
  )
  if (!timeline || !data) return null
  const span = formatDuration(wholeSeconds(timeline.to_us - timeline.from_us))
  const { fromUs } = newestOf(data)
  const shown = timeline.steps.filter(step => step.start_us >= fromUs).length
  const rest = [
    say.split,
    workersSeen.length > LANES && say.more(workersSeen.length - LANES),
    shown < timeline.steps.length && say.all(formatNumber(timeline.steps.length)),
  ]
    .filter(Boolean)
    .join(' ')
  if (timeline.steps.length === 0) {
    return timeline.missing ? (
      <Panel title={parts.timeline}>
        <p class="missing">{asSentence(timeline.missing)}</p>
      </Panel>
    ) : null
  }
  return (
    <Panel
      title={say.title(shown)}
      // On a phone it is looked up: what it shows is small there.
      isFolded={isNarrow.value}
      detail={isNarrow.value ? say.folded : <Legend entries={legendOf(timeline, run.gpus)} />}
      controls={<Keys />}
      name="timeline"
      figures={figuresOf(columnsOf(timeline), timeline.batches, timeline.batches.slice(-TABLE_ROWS))}
      picture={() => [
        legend(legendOf(timeline, run.gpus)),
        chart(gantt(data, { view: newestOf(data), selected: null, pointed: null })),
        paragraph(rest),
      ]}
      class="timeline"
    >
      {isNarrow.value && <Legend entries={legendOf(timeline, run.gpus)} />}
      <GanttChart
        data={data}
        label={say.label(workersSeen.filter(worker => worker !== null).length, span)}
        readout={(selected, pointed) =>
          selected ? stretchText(timeline, selected, run.gpus) : pointed ? pointedText(pointed) : rest
        }
      />
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

function pausesOf({ rank, loader }: Timeline, series: SeriesPage | null): SeriesPage['pauses'] {
  return series?.rank === rank && series.loader === loader ? series.pauses : []
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

/** The figures of the chosen span: steps are cut at its ends. */
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

function pointedText(target: NonNullable<Pointed>): string {
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
  const known = parts.flatMap(([us, name]) => (us === null ? [] : [`${formatDuration(us)} ${name}`]))
  const unknown =
    target.runqueue_us === null
      ? [`${formatDuration(target.load_us - (target.cpu_us ?? 0))} ${say.load}`]
      : []
  const loadedBy = workers.name(target.worker)
  const pinned = target.pin_us === null ? [] : [say.pinned(formatDuration(target.pin_us))]
  return [
    say.batch(target.batch_index, loadedBy, formatDuration(target.load_us)),
    ...known,
    ...unknown,
    ...pinned,
  ].join(', ')
}

function legendOf({ batches }: Timeline, gpus: number | null) {
  const isOpen = batches.some(batch => batch.runqueue_us === null)
  return [
    ['load-cpu', say.cpu],
    ['load-runqueue', say.runqueue],
    ['load-blocked', say.blocked],
    ...(isOpen ? ([['load', say.load]] as const) : []),
    ['hatch', say.waits(gpus)],
    ['compute-fill', say.rest],
  ] as const
}

function Keys() {
  return (
    <span class="detail wide-only">
      <kbd>w</kbd> <kbd>s</kbd> {say.zoom} <kbd>a</kbd> <kbd>d</kbd> {say.pan} <kbd>,</kbd> <kbd>.</kbd>{' '}
      {say.nextBatch} <kbd>f</kbd> {say.fit}
    </span>
  )
}

function columnsOf(timeline: Timeline): readonly FigureColumn<TimelineBatch>[] {
  const steps = stepsByBatch(timeline)
  const stepOf = (batch: TimelineBatch) => steps.get(batchKey(batch))
  return [
    { name: 'epoch_index' },
    { name: 'batch_index', label: 'Batch', format: batch => String(batch.batch_index) },
    { name: 'worker', label: 'Worker', format: batch => workers.name(batch.worker) },
    {
      name: 'start_us',
      label: 'Starts',
      format: batch => `−${formatDuration(timeline.to_us - batch.start_us)}`,
    },
    { name: 'load_us', label: 'Load time', unit: 'us' },
    { name: 'cpu_us', label: 'On a CPU', unit: 'us' },
    { name: 'runqueue_us', label: 'No CPU free', unit: 'us' },
    { name: 'blocked_us', label: 'Blocked', unit: 'us' },
    { name: 'collate_us' },
    { name: 'pin_us', label: 'Pinned in', unit: 'us' },
    { name: 'received_us' },
    { name: 'step_index', value: batch => stepOf(batch)?.step_index ?? null },
    {
      name: 'data_wait_us',
      label: 'Waited for it',
      unit: 'us',
      value: batch => stepOf(batch)?.data_wait_us ?? null,
    },
  ]
}
