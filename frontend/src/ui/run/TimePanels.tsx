/** Since when: four panels over one time axis, with one crosshair through all of them. */
import { type Signal, useSignal } from '@preact/signals'
import { useEffect, useMemo } from 'preact/hooks'
import type { Diagnosis, Series } from '../../api/names'
import { type Crosshair, createCrosshair } from '../../charts/crosshair'
import { type Heatmap, mountHeatmap } from '../../charts/heatmap'
import type { TimePanel } from '../../charts/panel'
import { mountTime } from '../../charts/time'
import { asSentence, formatDuration, formatFraction, formatNumber } from '../../format'
import { type LineColumns, last, type StepColumns } from '../../store/columns'
import { WHOLE } from '../../store/permalink'
import type { RunStore, Still } from '../../store/run'
import { charts as say } from '../../text/charts'
import { text } from '../../text/shared'
import { Chart } from '../parts/Chart'
import { CrosshairSlider } from '../parts/CrosshairSlider'
import { Panel } from '../parts/Panel'
import { disagreement, heatmapOf, type Panels, panelsOf, readout } from './panels'
import { RangeChoice } from './RangeChoice'
import { SeriesTable, seriesFigures } from './SeriesTable'
import './TimePanels.css'

const NOTHING_SHARED: Diagnosis['shared'] = []

export function TimePanels({ store, run }: { store: RunStore; run: Still }) {
  const page = store.series.value
  const workers = store.workers.value
  const { kind } = store.selection.value.range
  const isWhole = kind === 'whole'
  const endsNow = kind !== 'steps' && run.status === 'running'
  const shared = store.diagnosis.value?.shared ?? NOTHING_SHARED
  // Charts are drawn again when these change, and not with every second of a live run or move of the pointer.
  const panels = useMemo(
    () => page && panelsOf({ ...run, shared, endsNow }, page, isWhole),
    [page, run, shared, endsNow, isWhole],
  )
  const heat = useMemo(() => panels && heatmapOf(panels.frame, workers), [panels, workers])
  const crosshair = useMemo(createCrosshair, [])
  const mount = useMemo(() => mounting(store, crosshair), [store, crosshair])
  const pointed = usePointed(crosshair, panels)

  if (!page) return null
  if (!panels) return <NoSteps />
  const { frame, steps, queue, util } = panels
  const queueTitle = say.queue(run.gpus)
  return (
    <Panel
      title={say.title}
      name="steps"
      controls={<RangeChoice store={store} />}
      table={() => <SeriesTable panels={panels} />}
      csv={() => seriesFigures(panels)}
      class="time-panels"
    >
      <Readout pointed={pointed} otherwise={(steps.spread ? say.spreadOf : say.mean)(steps.stepsPerBucket)} />
      <KeptNote series={page.series[0]} />
      <StragglerNote store={store} shown={page.rank} />
      <div class="charts">
        <Chart mount={mount.time} data={panels.stepPanel} label={stepLabel(steps)} />
        <ChartTitle
          title={queueTitle}
          detail={frame.prefetchCapacity === null ? '' : say.queueOf(frame.prefetchCapacity)}
        />
        <Line mount={mount.time} columns={queue} panel={panels.queuePanel} title={queueTitle} />
        <ChartTitle title={steps.idle ? say.gpuBusyIdle : say.gpuBusy} detail={utilDetail(panels)} />
        <Line mount={mount.time} columns={util} panel={panels.utilPanel} title={say.gpuBusy} />
        <Disagreement panels={panels} />
        {heat && <Load mount={mount.heat} heat={heat} run={run} />}
        <CrosshairSlider crosshair={crosshair} frame={frame} steps={steps} pointed={pointed} />
      </div>
    </Panel>
  )
}

/** The only part that follows every move of the pointer. */
function Readout({ pointed, otherwise }: { pointed: Signal<string | null>; otherwise: string }) {
  return <p class="detail readout">{pointed.value ?? otherwise}</p>
}

/** The verdict is about a straggler, and its charts say why: the others' show next to nothing. */
function StragglerNote({ store, shown }: { store: RunStore; shown: number }) {
  const slow = store.diagnosis.value?.ranks.filter(one => one.straggler).map(one => one.rank) ?? []
  const [worst] = slow
  if (worst === undefined || slow.includes(shown)) return null
  return (
    <p class="missing">
      {say.ofRank(shown)}{' '}
      <button type="button" class="button small" onClick={() => store.select({ rank: worst, range: WHOLE })}>
        {say.showRank(worst)}
      </button>
    </p>
  )
}

/** What no zoom brings back. */
function KeptNote({ series }: { series: Series | undefined }) {
  const notes = [
    series?.given_up_before ? say.givenUp(formatNumber(series.given_up_before)) : null,
    series?.precision_bits ? say.rounded(series.precision_bits) : null,
  ].filter(Boolean)
  return notes.length > 0 ? <p class="detail">{notes.join(' ')}</p> : null
}

/** Charts keep the functions they were mounted with: these read the store when they are called. */
function mounting(store: RunStore, crosshair: Crosshair) {
  return {
    time: (element: HTMLElement, panel: TimePanel) =>
      mountTime(element, panel, { crosshair, onZoom: store.zoom }),
    heat: (element: HTMLElement, heat: Heatmap) => mountHeatmap(element, heat, crosshair),
  }
}

function usePointed(crosshair: Crosshair, panels: Panels | null): Signal<string | null> {
  const pointed = useSignal<string | null>(null)
  useEffect(() => {
    const show = (atS: number | null) => {
      pointed.value = atS === null || !panels ? null : readout(atS, panels)
    }
    show(crosshair.atS)
    return crosshair.subscribe(show)
  }, [crosshair, panels, pointed])
  return pointed
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
}

/** A quantity that was not measured is not an empty chart: the reason stands in its place. */
function Line({ mount, columns, panel, title }: LineProps) {
  if (!panel || !columns || last(columns.mean) === null) {
    return <p class="missing">{asSentence(columns?.missing ?? text.notMeasured)}</p>
  }
  const labels = panel.layers.map(layer => layer.label).filter(Boolean)
  return <Chart mount={mount} data={panel} label={`${title}: ${labels.join(', ')}`} />
}

function utilDetail({ util, steps }: Panels): string {
  return util === null || last(util.mean) === null ? '' : say.gpuBusyDetail(steps.idle !== null)
}

/** Only where both were measured and cannot both be shares of one whole: else there is nothing to explain. */
function Disagreement({ panels: { util, steps } }: { panels: Panels }) {
  const shares = disagreement(util, steps)
  if (!shares) return null
  return (
    <details class="disagree">
      <summary>{say.disagree}</summary>
      <p>{say.disagreement(formatFraction(shares[0]), formatFraction(shares[1]))}</p>
    </details>
  )
}

function Load({
  mount,
  heat,
  run,
}: {
  mount: ReturnType<typeof mounting>['heat']
  heat: Heatmap
  run: Still
}) {
  const limit = heat.limitUs === null ? null : formatDuration(heat.limitUs)
  return (
    <>
      <ChartTitle title={say.load(run.num_workers)} detail={say.loadDetail(run.gpus, limit !== null)} />
      <Chart mount={mount} data={heat} label={say.loadLabel(formatDuration(heat.medianUs), limit)} />
    </>
  )
}

function stepLabel(steps: StepColumns): string {
  if (steps.spread)
    return say.spreadLabel(formatDuration(last(steps.spread.p50)), formatDuration(last(steps.spread.p99)))
  return say.stepLabel(formatDuration(last(steps.wait)), formatDuration(last(steps.total)))
}
