/** Charts over run time, with one crosshair through all of them. */
import { useMemo } from 'preact/hooks'
import type { Diagnosis, Run, Series } from '../../api/schema'
import type { Mark } from '../../charts/annotate'
import type { ChartSet } from '../../charts/declared/declaration'
import { isRestMixed, runCharts } from '../../charts/declared/run'
import { formatDuration, formatNumber } from '../../format'
import { WHOLE } from '../../store/permalink'
import type { Range, RunStore, Still } from '../../store/run'
import { charts as say } from '../../text/charts'
import { isOpen } from '../../verdict'
import { Button } from '../parts/Button'
import { ChartPanel } from '../parts/ChartPanel'
import { Choice, Choices } from '../parts/Choice'
import type { WordTable } from '../parts/figures'
import { isNarrow } from '../parts/media'
import { Panel } from '../parts/Panel'
import { ageS } from '../parts/When'
import { marksOf } from './marks'
import './TimePanels.css'

const NOTHING_SHARED: Diagnosis['shared'] = []
const NO_TRIALS: Diagnosis['trials'] = []

export function TimePanels({ store, run }: { store: RunStore; run: Still }) {
  const page = store.series.value
  const workers = store.workers.value
  const { kind } = store.selection.value.range
  const isWhole = kind === 'whole'
  const endsNow = kind !== 'steps' && run.status === 'running'
  const hasOtherWaits = otherWaitsUs(store) > 0
  const shared = store.diagnosis.value?.shared ?? NOTHING_SHARED
  const trials = store.shown.value?.trials ?? NO_TRIALS
  const marks = useMemo(
    () => (page ? marksOf({ ...run, shared, trials }, page) : []),
    [page, run, shared, trials],
  )
  // Charts are drawn again when these change, and not with every second of a live run or move of the pointer.
  const set = useMemo(
    () => page && runCharts({ run, page, isWhole, endsNow, marks, hasOtherWaits }, workers),
    [run, page, isWhole, endsNow, marks, hasOtherWaits, workers],
  )
  if (!page) return null
  if (!set) {
    return (
      <Panel title={say.title}>
        <p class="missing">{say.none}</p>
      </Panel>
    )
  }
  const step = page.series.find(series => series.metric === 'step_us')
  const figures = (step?.p50 ? say.spreadOf : say.mean)(stepsPerPoint(step))
  return (
    <ChartPanel
      set={set}
      title={say.title}
      name="steps"
      controls={<RangeChoice store={store} />}
      furtherTable={happened(set, marks)}
      otherwise={store.shown.value && isOpen(store.shown.value) ? say.unjudged(figures) : figures}
      notes={
        <>
          <KeptNote series={step} />
          {isRestMixed({ page, hasOtherWaits }) && <OthersNote us={otherWaitsUs(store)} />}
          <StragglerNote store={store} shown={page.rank} />
        </>
      }
      onZoom={store.zoom}
      isShort={isNarrow.value}
      class="time-panels"
    />
  )
}

function happened({ across }: ChartSet, marks: readonly Mark[]): WordTable | undefined {
  const rows = marks.map(mark => [
    across.inWords(mark.at),
    mark.detail ? `${mark.label}, ${mark.detail}` : mark.label,
  ])
  const heads = { caption: say.eventsTitle, columns: say.eventColumns, isNumeric: false }
  return rows.length > 0 ? { ...heads, rows } : undefined
}

/** Of a typical bucket; the newest may hold fewer. */
function stepsPerPoint(step: Series | undefined): number {
  const counts = (step?.count ?? []).toSorted((a, b) => a - b)
  return counts[counts.length >> 1] ?? 0
}

/** Of the mean judged step. */
function otherWaitsUs(store: RunStore): number {
  return store.shown.value?.anatomy?.others_wait_us ?? 0
}

/** Which part of the rest is waits is known of the mean step alone. */
function OthersNote({ us }: { us: number }) {
  return <p class="detail">{say.otherWaits(formatDuration(us))}</p>
}

/** The verdict is about a straggler, whose charts show why; those of other ranks show next to nothing. */
function StragglerNote({ store, shown }: { store: RunStore; shown: number }) {
  const slow = store.shown.value?.ranks.filter(one => one.straggler).map(one => one.rank) ?? []
  const [worst] = slow
  if (worst === undefined || slow.includes(shown)) return null
  return (
    <p class="missing">
      {say.ofRank(shown)}{' '}
      <Button kind="small" onClick={() => store.select({ rank: worst, range: WHOLE })}>
        {say.showRank(worst)}
      </Button>
    </p>
  )
}

/** Deleted or rounded steps, which no zoom restores. */
function KeptNote({ series }: { series: Series | undefined }) {
  const notes = [
    series?.given_up_before ? say.deleted(formatNumber(series.given_up_before)) : null,
    series?.precision_bits ? say.rounded(series.precision_bits) : null,
  ].filter(Boolean)
  return notes.length > 0 ? <p class="detail">{notes.join(' ')}</p> : null
}

/** In seconds; offered where they are clearly shorter than the run. */
const SPANS = [
  ['900', '15 min'],
  ['3600', '1 h'],
] as const
const CLEARLY = 1.2

const FIGURES = [
  ['mean', say.meanFigures],
  ['percentiles', say.percentiles],
] as const

/** Which rank, how much of the run: each offered only where there is a choice. */
export function RangeChoice({ store }: { store: RunStore }) {
  const run = store.run.value
  const { rank, range, figures } = store.selection.value
  const page = store.series.value
  const stragglers = new Set(store.shown.value?.ranks.filter(one => one.straggler).map(one => one.rank))
  if (!run) return null
  return (
    <>
      {run.ranks.length > 1 && (
        <Choice
          label={say.rank}
          value={String(rank ?? page?.rank ?? 0)}
          options={run.ranks.map(one => [String(one), say.rankOption(one, stragglers.has(one))])}
          onChoose={chosen => store.select({ rank: Number(chosen), range: WHOLE })}
        />
      )}
      <Choices
        label={say.figures}
        value={figures}
        options={FIGURES}
        small
        onChoose={chosen => store.select({ figures: chosen })}
      />
      <Spans run={run} range={range} onChoose={chosen => store.select({ range: chosen })} />
    </>
  )
}

function Spans({ run, range, onChoose }: { run: Run; range: Range; onChoose(range: Range): void }) {
  // What was recorded while no service was reached is seen long after the run.
  const spans = SPANS.filter(([spanS]) => ageS(run) > Number(spanS) * CLEARLY)
  const { kind } = range
  if (spans.length === 0 && kind === 'whole') return null
  const zoomed = ['steps', say.zoomed] as const
  return (
    <Choices<string>
      label={say.range}
      value={kind === 'newest' ? String(range.spanS) : kind}
      options={[...spans, ...(kind === 'steps' ? [zoomed] : []), ['whole', say.whole]]}
      small
      onChoose={chosen => {
        if (chosen === 'whole') onChoose(WHOLE)
        else if (chosen !== 'steps') onChoose({ kind: 'newest', spanS: Number(chosen) })
      }}
    />
  )
}
