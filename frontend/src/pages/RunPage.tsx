/** One run, in the order of reading: what is wrong, how bad, what to do, since when, on what evidence. */
import { computed, effect, signal, useComputed } from '@preact/signals'
import type { FunctionComponent } from 'preact'
import { useEffect, useLayoutEffect, useRef } from 'preact/hooks'
import type { Diagnosis, Run } from '../api/schema'
import { capital, formatFraction } from '../format'
import { navigate, route, runHref, runsHref, withQuery } from '../router'
import { stepColumns } from '../store/columns'
import { parseFilter } from '../store/filter'
import { isSame, queryOf, selectionOf, WHOLE, zoomed } from '../store/permalink'
import type { Resource } from '../store/resource'
import { openRun, type Part, type RunStore, type Still } from '../store/run'
import type { RunsStore } from '../store/runs'
import { run as say } from '../text/run'
import { text } from '../text/shared'
import { CrashBanner, DiedBanner, NoSignalBanner, TroubleBanner } from '../ui/parts/Banner'
import { Ledger } from '../ui/parts/Ledger'
import { memo } from '../ui/parts/memo'
import { Fence, onDemand } from '../ui/parts/onDemand'
import { usePage } from '../ui/parts/page'
import { ChartsSkeleton, Skeleton } from '../ui/parts/Skeleton'
import { useRuns, useStore } from '../ui/parts/stores'
import { AdviceList } from '../ui/run/AdviceList'
import { Footnote } from '../ui/run/Footnote'
import { FIXES } from '../ui/run/fixId'
import { LoaderSwitch } from '../ui/run/LoaderSwitch'
import { RunHead } from '../ui/run/RunHead'
import { Verdict } from '../ui/run/Verdict'
import { isOpen, isWell, ledgerOf, oneOfSeveral, verdictWord } from '../verdict'
import { MissingPage } from './MissingPage'
import './RunPage.css'

const PART_NAMES: Record<Part, string> = {
  run: say.facts,
  diagnosis: say.verdict,
  ofLoader: say.loaderVerdict,
  series: say.charts,
  workers: say.workers,
  timeline: say.timeline,
}

export function RunPage({ runId }: { runId: string }) {
  // One page per run: the frame gives each run a page of its own.
  const runs = useRuns()
  const store = useStore(() => openRun(runId, selectionOf(route.value.query), runs.rows.has(runId)))
  usePage(null, keys(store, runs, runId), [store, runs, runId])
  useEffect(() => bindAddress(store), [store])

  const run = store.still.value
  const isKnown = run !== null
  useEffect(() => {
    // Not before the first paint; what failed is asked for again, and said, where it is shown.
    if (isKnown) void charted().catch(() => {})
  }, [isKnown])
  useLayoutEffect(() => nameTab(store), [store])
  const isTuned = Boolean(store.shown.value?.tuning)
  useEffect(() => {
    if (isTuned) void Trials.ahead().then(() => (isTriedHere.value = true))
  }, [isTuned])
  // Trials stand above the fixes, and would push them away; those that come later push what is read.
  const isBegun = useRef(false)
  const isWhole = isBegun.current || !isTuned || isTriedHere.value
  const isLoaded = isWhole && (store.shown.value !== null || store.diagnosis.trouble.value !== null)
  isBegun.current ||= isLoaded

  if (store.isMissing.value) return <MissingPage runId={runId} />
  return (
    <>
      {[...store.troubles.value].map(([part, error]) => (
        <TroubleBanner key={part} what={PART_NAMES[part]} error={error} />
      ))}
      {/* The verdict comes with the head: it would push away whatever was there before it. */}
      {run && isLoaded ? (
        <Loaded store={store} run={run} />
      ) : (
        store.run.trouble.value === null && <Skeleton />
      )}
    </>
  )
}

function Loaded({ store, run }: { store: RunStore; run: Still }) {
  const [own, shown] = [store.diagnosis.value, store.shown.value]
  const { loader } = store.selection.value
  // What is below the switch is still about the loader before.
  const isPending =
    loader !== null && shown !== null && shown.loader !== loader && !store.ofLoader.trouble.value
  const isOneOfSeveral = own !== null && own.loaders.length > 1
  const isUnjudged = shown !== null && isOpen(shown)
  const state = [run.status === 'lost' && 'stale', isUnjudged && 'unjudged', isPending && 'awaiting']
    .filter(Boolean)
    .join(' ')
  return (
    <>
      <Moving store={store} part={RunHead} />
      {run.status === 'lost' && <Moving store={store} part={NoSignalBanner} />}
      <DiedBanner run={run} page={store.workers.value} />
      {run.status === 'crashed' && <Moving store={store} part={CrashBanner} />}
      {isOneOfSeveral && (
        <Judged store={store} run={run} diagnosis={own} isOfRun leadsToFixes={shown?.loader === own.loader} />
      )}
      {isOneOfSeveral && <LoaderSwitch store={store} own={own} />}
      <div class={state} aria-busy={isPending}>
        {shown && (shown.loader !== own?.loader || !isOneOfSeveral) && (
          <Fence>
            <Judged store={store} run={run} diagnosis={shown} isOfRun={!isOneOfSeveral} leadsToFixes />
          </Fence>
        )}
        {run.no_loader === null && <Recorded store={store} run={run} diagnosis={shown} />}
        <Moving store={store} part={Footnote} />
      </div>
    </>
  )
}

interface MovingProps {
  store: RunStore
  part: FunctionComponent<{ run: Run; loader: string | null }>
}

/** The few parts that follow each window of a run. */
function Moving({ store, part: Part }: MovingProps) {
  const [run, own] = [store.run.value, store.diagnosis.value]
  return run && <Part run={run} loader={own && oneOfSeveral(own)} />
}

interface JudgedProps {
  store: RunStore
  run: Still
  diagnosis: Diagnosis
  isOfRun: boolean
  leadsToFixes: boolean
}

function Judged({ store, run, diagnosis, ...of }: JudgedProps) {
  const outlook = useComputed(() => store.run.value?.outlook ?? null)
  return <Verdict run={{ ...run, outlook: outlook.value }} diagnosis={diagnosis} {...of} />
}

/** Charts come while the figures that they draw are asked for. */
const charted = () => import('../ui/run/TimePanels')
const Times = onDemand(async () => (await charted()).TimePanels, <ChartsSkeleton />)
const Trials = onDemand(async () => (await import('../ui/run/TrialsPanel')).TrialsPanel)
/** Or will not come. */
const isTriedHere = signal(false)
/** What is low on the page comes after what is above it; none of it follows each verdict. */
const SignalRows = onDemand(async () => (await import('../ui/run/SignalsPanel')).SignalsPanel)
const Facts = memo(onDemand(async () => (await import('../ui/run/RunFacts')).RunFacts))
const Settings = memo(onDemand(async () => (await import('../ui/run/LoaderSettings')).LoaderSettings))
const Ranks = onDemand(async () => (await import('../ui/run/RanksPanel')).RanksPanel)
const Workers = memo(onDemand(async () => (await import('../ui/run/WorkersPanel')).WorkersPanel))
const Hotspots = memo(onDemand(async () => (await import('../ui/run/hotspots/HotspotsPanel')).HotspotsPanel))
const Past = memo(onDemand(async () => (await import('../ui/run/Past')).Past))
const Gantt = memo(onDemand(async () => (await import('../ui/run/GanttPanel')).GanttPanel))
const Hosts = memo(onDemand(async () => (await import('../ui/run/RunHosts')).RunHosts))

/** Everything that needs a loader: without one all these panels would be empty. */
function Recorded({ store, run, diagnosis }: { store: RunStore; run: Still; diagnosis: Diagnosis | null }) {
  const ledger = diagnosis ? ledgerOf(diagnosis) : []
  const isDrawn = isAnswered(store.series) && isAnswered(store.workers)
  const isUnexplained = diagnosis !== null && isWithoutFix(diagnosis)
  const hotspots = (
    <Hotspots
      run={run}
      loader={store.selection.value.loader}
      rank={store.selection.value.rank}
      isFolded={!isUnexplained}
    />
  )
  return (
    <>
      {diagnosis?.tuning && <Trials diagnosis={diagnosis} tuning={diagnosis.tuning} />}
      {ledger.length > 0 && <Ledger run={run} entries={ledger} />}
      <div class={`columns ${diagnosis !== null && hasRoom(diagnosis) ? 'roomy' : ''}`}>
        <div id={FIXES} class="do">
          {diagnosis && (
            <Fence>
              <AdviceList run={run} diagnosis={diagnosis} />
            </Fence>
          )}
        </div>
        <div class="seen">
          <div>
            {isDrawn ? <Times store={store} run={run} /> : <ChartsSkeleton />}
            {isDrawn && diagnosis && diagnosis.signals.length > 0 && (
              <SignalRows signals={diagnosis.signals} isWell={isWell(diagnosis)} />
            )}
          </div>
          <div class="looked-up">
            {isDrawn && (
              <>
                <Settings
                  run={run}
                  previous={store.previous.value}
                  diagnosis={diagnosis}
                  chosen={store.selection.value.loader}
                />
                <Facts run={run} previous={store.previous.value} />
                {!isUnexplained && hotspots}
                <Past run={run} />
                <Hosts store={store} run={run} />
              </>
            )}
          </div>
        </div>
        <div class="compared">
          {isDrawn && diagnosis && diagnosis.ranks.length > 1 && (
            <Ranks store={store} diagnosis={diagnosis} />
          )}
          {isDrawn && <Workers page={store.workers.value} run={run} />}
          {isDrawn && isUnexplained && hotspots}
        </div>
      </div>
      {isDrawn && <Gantt timeline={store.timeline.value} series={store.series.value} run={run} />}
    </>
  )
}

/** No fix is known: what loading executes is where to look. */
function isWithoutFix({ bound, advice, beside_loader }: Diagnosis): boolean {
  return bound === 'data' && advice.length === 0 && !beside_loader
}

/** No fix, and few ranks to compare: what is looked up has room beside the charts. */
function hasRoom({ advice, ranks }: Diagnosis): boolean {
  return advice.length === 0 && ranks.length <= 4
}

/** It is there, or will not come. */
function isAnswered({ value, trouble }: Resource<unknown>): boolean {
  return value !== null || trouble.value !== null
}

function titleOf(run: Run): string {
  const word = verdictWord(run)
  // Of several loaders the share is that of one, and the verdict is about the run.
  const share =
    run.data_stall_fraction === null || run.loaders.length > 1
      ? ''
      : ` ${formatFraction(run.data_stall_fraction)}`
  return `${capital(word)}${share} · ${run.name} · ${text.product}`
}

/** Follows the run. Returns a function that ends it. */
function nameTab(store: RunStore): () => void {
  const title = computed(() => store.run.value && titleOf(store.run.value))
  return effect(() => {
    if (title.value) document.title = title.value
  })
}

/** What is chosen is written into the address; "back" restores the choice before. Returns a function that ends it. */
function bindAddress(store: RunStore): () => void {
  const stops = [
    effect(() => {
      const chosen = store.selection.value
      const { pathname, search } = location
      if (isSame(chosen, selectionOf(new URLSearchParams(search)))) return
      navigate(pathname + withQuery(queryOf(chosen), new URLSearchParams(search)))
    }),
    effect(() => {
      const wanted = selectionOf(route.value.query)
      // When another page is opened the address is no longer this run's.
      if (route.value.page === 'run' && !isSame(wanted, store.selection.peek())) store.select(wanted)
    }),
  ]
  return () => {
    for (const stop of stops) stop()
  }
}

/** Narrower, wider, or along the run. */
function zoom(store: RunStore, change: Parameters<typeof zoomed>[2]): void {
  const { range } = store.selection.value
  // A key pressed before the last request was answered starts from the range that it requested.
  const from = range.kind === 'steps' ? range : shownSteps(store)
  if (from) store.select({ range: zoomed(from, store.run.value?.steps ?? from.to, change) ?? WHOLE })
}

function shownSteps(store: RunStore): { from: number; to: number } | null {
  const page = store.series.peek()
  if (!page) return null
  const firstIndex = stepColumns(page)?.firstIndex ?? []
  const [from] = firstIndex
  if (from === undefined) return null
  return { from, to: (firstIndex.at(-1) ?? from) + (page.series[0]?.count.at(-1) ?? 1) }
}

/** Keys that act on what is on the page do so by pressing its own buttons. */
function keys(store: RunStore, runs: RunsStore, runId: string): Record<string, (key: string) => void> {
  const press = (selector: string) => document.querySelector<HTMLElement>(selector)?.click()
  const digits = Array.from({ length: 9 }, (_, index) => String(index + 1))
  return {
    Escape: () => navigate(runsHref()),
    j: () => void openNeighbour(runs, runId, 1),
    k: () => void openNeighbour(runs, runId, -1),
    d: () => press('[data-shortcut="d"]'),
    c: () => press('[data-shortcut="c"]'),
    '+': () => zoom(store, { factor: 0.5 }),
    '-': () => zoom(store, { factor: 2 }),
    '[': () => zoom(store, { shift: -0.5 }),
    ']': () => zoom(store, { shift: 0.5 }),
    '0': () => store.select({ range: WHOLE }),
    ...Object.fromEntries(digits.map(digit => [digit, () => press(`[data-fix="${digit}"] > summary`)])),
  }
}

/** In the order of the table, also for readers who came by a link. */
async function openNeighbour({ isLoaded, load, order }: RunsStore, runId: string, by: number): Promise<void> {
  if (!isLoaded.value) await load(parseFilter(new URLSearchParams()))
  const here = order.value.indexOf(runId)
  const next = order.value[here + by]
  if (here >= 0 && next) navigate(runHref(next))
}
