/** Since when: charts over run time, with one crosshair through all of them. */
import { useMemo } from 'preact/hooks'
import type { Diagnosis, Series } from '../../api/names'
import {
  axisOf,
  firstSteps,
  loadChart,
  positionsOf,
  runCharts,
  type ShownRun,
} from '../../charts/declared/run'
import { formatElapsed, formatNumber } from '../../format'
import { WHOLE } from '../../store/permalink'
import type { RunStore, Still } from '../../store/run'
import { charts as say } from '../../text'
import { ChartGroup, chartBlocks } from '../parts/ChartGroup'
import { type Figures, figuresOver } from '../parts/figures'
import { Panel } from '../parts/Panel'
import { marksOf } from './marks'
import { RangeChoice } from './RangeChoice'

const NOTHING_SHARED: Diagnosis['shared'] = []

export function TimePanels({ store, run }: { store: RunStore; run: Still }) {
  const page = store.series.value
  const workers = store.workers.value
  const { kind } = store.selection.value.range
  const isWhole = kind === 'whole'
  const endsNow = kind !== 'steps' && run.status === 'running'
  const shared = store.diagnosis.value?.shared ?? NOTHING_SHARED
  // Charts are drawn again when these change, and not with every second of a live run or move of the pointer.
  const shown: ShownRun | null = useMemo(
    () => page && { run, page, isWhole, endsNow, marks: marksOf({ ...run, shared }, page) },
    [page, run, shared, endsNow, isWhole],
  )
  const series = useMemo(() => shown && runCharts(shown), [shown])
  const load = useMemo(() => shown && workers && loadChart(shown, workers), [shown, workers])

  if (!shown || !series) return null
  const at = positionsOf(shown.page)
  if (!at) return <NoSteps />
  const charts = load ? [...series, load] : series
  const first = firstSteps(shown.page)
  const quantities = [first, ...charts.flatMap(chart => chart.quantities)]
  const across = axisOf(shown)
  const told = (atS: number) => formatElapsed(Math.round(atS), across.to)
  const step = shown.page.series.find(series => series.metric === 'step_us')
  return (
    <Panel
      title={say.title}
      name="steps"
      controls={<RangeChoice store={store} />}
      figures={withMarks(figuresOver(at, quantities, { name: 'at_s', label: say.at, told }), shown, told)}
      picture={() => chartBlocks(charts)}
      class="time-panels"
    >
      <ChartGroup
        charts={charts}
        quantities={quantities}
        across={across}
        at={at}
        told={told}
        otherwise={(step?.p50 ? say.spreadOf : say.mean)(stepsPerPoint(step))}
        notes={
          <>
            <KeptNote series={step} />
            <StragglerNote store={store} shown={shown.page.rank} />
          </>
        }
        onZoom={store.zoom}
      />
    </Panel>
  )
}

/** With what happened as a table of its own. */
function withMarks(figures: Required<Figures>, { marks }: ShownRun, told: (atS: number) => string): Figures {
  if (marks.length === 0) return figures
  const rows = marks.map(mark => [told(mark.at), mark.label])
  const happened = { caption: say.eventsTitle, columns: say.eventColumns, rows, isNumeric: false }
  return { ...figures, tables: () => [...figures.tables(), happened] }
}

/** Of a typical bucket; the newest may hold fewer. */
function stepsPerPoint(step: Series | undefined): number {
  const counts = (step?.count ?? []).toSorted((a, b) => a - b)
  return counts[counts.length >> 1] ?? 0
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

function NoSteps() {
  return (
    <Panel title={say.title}>
      <p class="missing">{say.none}</p>
    </Panel>
  )
}
