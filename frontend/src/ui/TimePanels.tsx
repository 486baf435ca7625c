/** Since when: four panels over one time axis, with one crosshair through all of them. */
import { useSignal } from '@preact/signals'
import { useEffect, useMemo } from 'preact/hooks'
import type { Run } from '../api/names'
import { type Crosshair, createCrosshair } from '../charts/crosshair'
import { type Heatmap, mountHeatmap } from '../charts/heatmap'
import { mountTime, type TimePanel } from '../charts/time'
import { asSentence, formatDuration, formatFraction } from '../format'
import { type LineColumns, last, lineColumns, type StepColumns, stepAt, stepColumns } from '../store/columns'
import type { RunStore } from '../store/run'
import { charts as say, text } from '../text'
import { Chart } from './Chart'
import { CrosshairSlider } from './CrosshairSlider'
import { Panel } from './Panel'
import { frameOf, heatmapOf, queuePanel, readout, stepPanel, utilPanel } from './panels'
import { RangeChoice } from './RangeChoice'
import { SeriesTable } from './SeriesTable'

export function TimePanels({ store, run }: { store: RunStore; run: Run }) {
  const page = store.series.value
  const steps = useMemo(() => (page ? stepColumns(page) : null), [page])
  const queue = useMemo(() => (page ? lineColumns(page, 'queue_depth') : null), [page])
  const util = useMemo(() => (page ? lineColumns(page, 'gpu_util_fraction') : null), [page])
  const crosshair = useMemo(createCrosshair, [])
  const mount = useMemo(() => mounting(store, crosshair), [store, crosshair])
  const pointed = usePointed(crosshair, steps, queue, util)

  if (!page) return null
  if (!steps) return <NoSteps />
  const frame = frameOf(run, page, steps, store.selection.value.range.kind === 'whole')
  const heat = heatmapOf(frame, store.workers.value)
  return (
    <Panel
      title={say.title}
      controls={<RangeChoice store={store} run={run} />}
      table={() => <SeriesTable steps={steps} queue={queue} util={util} />}
      class="time-panels"
    >
      <p class="detail readout">{pointed ?? say.mean(steps.stepsPerBucket)}</p>
      <div class="charts">
        <Chart mount={mount.time} data={stepPanel(frame, steps)} label={stepLabel(steps)} />
        <ChartTitle
          title={say.queue(run.gpus)}
          detail={frame.prefetchCapacity === null ? '' : say.queueOf(frame.prefetchCapacity)}
        />
        <Line
          mount={mount.time}
          columns={queue}
          panel={queue && queuePanel(frame, queue)}
          title={say.queue(run.gpus)}
          reason={frame.hasNoWorkers ? say.noQueue : null}
        />
        <ChartTitle title={say.gpuBusy} detail={utilDetail(util)} />
        <Line mount={mount.time} columns={util} panel={util && utilPanel(frame, util)} title={say.gpuBusy} />
        {heat && <Load mount={mount.heat} heat={heat} run={run} />}
        <CrosshairSlider
          crosshair={crosshair}
          fromS={frame.fromS}
          toS={frame.toS}
          steps={steps}
          said={pointed}
        />
      </div>
    </Panel>
  )
}

/** Charts keep the functions they were mounted with: these read the store when they are called. */
function mounting(store: RunStore, crosshair: Crosshair) {
  function onZoom(fromS: number, toS: number): void {
    const steps = store.series.value && stepColumns(store.series.value)
    if (steps)
      store.select({ range: { kind: 'steps', from: stepAt(steps, fromS), to: stepAt(steps, toS) + 1 } })
  }
  return {
    time: (element: HTMLElement, panel: TimePanel) => mountTime(element, panel, { crosshair, onZoom }),
    heat: (element: HTMLElement, heat: Heatmap) => mountHeatmap(element, heat, crosshair),
  }
}

function usePointed(
  crosshair: Crosshair,
  steps: StepColumns | null,
  queue: LineColumns | null,
  util: LineColumns | null,
): string | null {
  const pointed = useSignal<string | null>(null)
  useEffect(() => {
    const show = (atS: number | null) => {
      pointed.value = atS === null || !steps ? null : readout(atS, steps, queue, util)
    }
    show(crosshair.atS)
    return crosshair.subscribe(show)
  }, [crosshair, steps, queue, util, pointed])
  return pointed.value
}

function NoSteps() {
  return (
    <Panel title={say.title}>
      <p class="missing">{say.none}</p>
    </Panel>
  )
}

function ChartTitle({ title, detail }: { title: string; detail: string }) {
  return (
    <h3>
      {title} <span>{detail}</span>
    </h3>
  )
}

interface LineProps {
  mount: ReturnType<typeof mounting>['time']
  columns: LineColumns | null
  panel: TimePanel | null
  title: string
  /** Known here better than from the service. */
  reason?: string | null
}

/** A quantity that was not measured is not an empty chart: the reason stands in its place. */
function Line({ mount, columns, panel, title, reason = null }: LineProps) {
  if (!panel || !columns || last(columns.mean) === null) {
    return <p class="missing">{reason ?? asSentence(columns?.missing ?? text.notMeasured)}</p>
  }
  return <Chart mount={mount} data={panel} label={`${title}: ${panel.layers[0]?.label ?? ''}`} />
}

function utilDetail(util: LineColumns | null): string {
  const now = util && last(util.mean)
  return now === null ? '' : say.gpuBusyDetail(formatFraction(now))
}

function Load({ mount, heat, run }: { mount: ReturnType<typeof mounting>['heat']; heat: Heatmap; run: Run }) {
  const limit = heat.limitUs === null ? null : formatDuration(heat.limitUs)
  return (
    <>
      <ChartTitle title={say.load(run.num_workers)} detail={say.loadDetail(run.gpus, limit !== null)} />
      <Chart mount={mount} data={heat} label={say.loadLabel(formatDuration(heat.medianUs), limit)} />
    </>
  )
}

function stepLabel(steps: StepColumns): string {
  return say.stepLabel(formatDuration(last(steps.wait)), formatDuration(last(steps.total)))
}
