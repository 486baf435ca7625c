/** One run on its page: its parts, each read on its own, and kept fresh at most once in two seconds. */
import { computed, effect, type ReadonlySignal, signal, untracked } from '@preact/signals'
import { get, NoAnswer, type ServiceError } from '../api/client'
import type { Diagnosis, Run, RunEvent, SeriesPage } from '../api/schema'
import { newestFrom, type StepColumns, stepAt, stepColumns } from './columns'
import { subscribe } from './connection'
import { readEarlier } from './earlier'
import { openResource, type Resource } from './resource'
import { reuse } from './reuse'

export type Part = 'run' | 'diagnosis' | 'ofLoader' | 'series' | 'workers' | 'timeline'
const BESIDE: readonly Part[] = ['diagnosis', 'ofLoader', 'series', 'workers', 'timeline']
const ALL: readonly Part[] = ['run', ...BESIDE]
/** Read for the stretch that is shown. */
const ZOOMED: readonly Part[] = ['series', 'workers']
const DRAWN: readonly Part[] = ['series', 'workers', 'timeline']
/** Read for the loader that is shown. */
const OF_LOADER: readonly Part[] = ['ofLoader', ...DRAWN]

export type Range =
  | { kind: 'whole' }
  | { kind: 'newest'; spanS: number }
  | { kind: 'steps'; from: number; to: number }

/** Of a bucket's steps: their mean by parts, or the spread of their whole time. */
export type Figures = 'mean' | 'percentiles'

export interface Selection {
  rank: number | null
  /** `null`: the one that the run's verdict is about. */
  loader: string | null
  range: Range
  figures: Figures
}

/** Calmer than one bucket a pixel, which turns a stacked area into a solid block of spikes. */
const BUCKETS = 240
const BUCKETS_NARROW = 120
/** Loaders, until it is known how many there are. */
const MANY = 2
/** Of fewer steps a 95th percentile is nothing but their greatest. */
const STEPS_OF_A_SPREAD = 20
/** A live run's parts are read again at most so often: what changes by the minute is not redrawn every second. */
const REST_MS: Record<Part, number> = {
  run: 3_000,
  diagnosis: 2_000,
  ofLoader: 4_000,
  series: 3_000,
  workers: 6_000,
  timeline: 6_000,
}

/** The fields of a run that change with each of its windows. */
const MOVING = [
  ...(['steps', 'last_seen_at', 'spark', 'hours_lost', 'gpu_hours_lost', 'data_stall_fraction'] as const),
  ...(['copy_fraction', 'step_us', 'steps_per_s', 'samples_per_s', 'overhead_us', 'outlook'] as const),
] as const

/** The rest of it: another object only when something of it changed. */
export type Still = Omit<Run, (typeof MOVING)[number]>

type Declared = typeof import('../charts/declared/run')
let declared: Declared | null = null

/** Charts are much code, and none of it is needed for the verdict. Raises: NoAnswer. */
export async function loadCharts(): Promise<Declared> {
  try {
    declared = await import('../charts/declared/run')
  } catch (cause) {
    throw new NoAnswer('The code of the charts did not come.', { cause })
  }
  return declared
}

export type RunStore = ReturnType<typeof openRun>

const EVERYTHING: Selection = { rank: null, loader: null, range: { kind: 'whole' }, figures: 'mean' }

/** `isListed`: a list has the run, so that all of it is read at once. */
export function openRun(runId: string, first: Selection = EVERYTHING, isListed = false) {
  const path = { run_id: runId }
  const selection = signal(first)
  /** Step columns of the last reading of the whole run. */
  let overview: StepColumns | null = null

  const part = <T>(name: Part, ask: (stop: AbortSignal) => Promise<T>) =>
    openResource<T>(ask, { restMs: REST_MS[name] })
  const parts = {
    run: part('run', stop => get('/api/v1/runs/{run_id}', { path }, stop)),
    diagnosis: part('diagnosis', stop => get('/api/v1/runs/{run_id}/diagnosis', { path }, stop)),
    /** Of the chosen loader; the last one that was chosen while none is. */
    ofLoader: openResource(readOfLoader, { restMs: REST_MS.ofLoader }),
    series: part('series', readSeries),
    workers: part('workers', stop =>
      get('/api/v1/runs/{run_id}/workers', { path, query: { ...source(), ...steps() } }, stop),
    ),
    timeline: part('timeline', stop =>
      get('/api/v1/runs/{run_id}/timeline', { path, query: source() }, stop),
    ),
  }
  const previous = openResource<Run>(readPrevious)

  /** The rank and the loader that are shown. */
  function source(): { rank?: number; loader?: string } {
    const { rank, loader } = selection.peek()
    return { ...(rank === null ? {} : { rank }), ...(loader === null ? {} : { loader }) }
  }

  async function readOfLoader(stop: AbortSignal): Promise<Diagnosis | null> {
    const { loader } = selection.peek()
    return loader === null ? null : get('/api/v1/runs/{run_id}/diagnosis', { path, query: { loader } }, stop)
  }

  async function readSeries(stop: AbortSignal): Promise<SeriesPage> {
    const isFirst = overview === null
    const metricsOf = declared?.runMetrics ?? (await loadCharts()).runMetrics
    const metric = [...metricsOf(parts.run.peek()?.loaders.length ?? MANY)]
    const query = { metric, ...source(), ...steps(), ...resolution() }
    const page = await get('/api/v1/runs/{run_id}/series', { path, query }, stop)
    if (!('from_step' in query)) overview = stepColumns(page)
    // Opened by a link to the newest minutes: which steps these are is known only now.
    if (isFirst && selection.peek().range.kind === 'newest') queueMicrotask(() => read(ZOOMED))
    return page
  }

  /** A missing earlier run is no error: there is nothing to compare with. */
  async function readPrevious(stop: AbortSignal): Promise<Run | null> {
    const run = parts.run.peek()
    const earlier = run && (await readEarlier(run))
    return earlier && get('/api/v1/runs/{run_id}', { path: { run_id: earlier.run_id } }, stop)
  }

  function steps(): { from_step?: number; to_step?: number } {
    const { range } = selection.peek()
    if (range.kind === 'steps') return { from_step: range.from, to_step: range.to }
    const from = range.kind === 'newest' ? newestFrom(overview, columnsNow(), range.spanS) : null
    return from === null ? {} : { from_step: from }
  }

  function resolution(): { buckets: number; percentiles?: true } {
    const most = innerWidth < 700 ? BUCKETS_NARROW : BUCKETS
    if (selection.peek().figures === 'mean') return { buckets: most }
    const { from_step: from = 0, to_step: to = parts.run.peek()?.steps ?? from } = steps()
    const room = Math.max(1, Math.floor((to - from) / STEPS_OF_A_SPREAD))
    return { buckets: Math.min(most, room), percentiles: true }
  }

  function columnsNow(): StepColumns | null {
    const page = parts.series.peek()
    return page && stepColumns(page)
  }

  function read(names: readonly Part[]): void {
    for (const name of names) void parts[name].read()
  }

  function refresh(names: readonly Part[]): void {
    for (const name of names) parts[name].refresh()
  }

  /** Of a run that is not there nothing else is. */
  function refreshAll(): void {
    refresh(parts.run.peek() ? ALL : ['run'])
  }

  function onEvent(event: RunEvent): void {
    const before = parts.run.peek()
    if (before) parts.run.put({ ...before, ...event.run })
    if (!before) refreshAll()
    else if (before.status !== event.run.status) read(ALL)
    else refresh(event.diagnosis_changed ? ALL : ['run', ...DRAWN])
  }

  function select(changes: Partial<Selection>): void {
    const before = selection.peek()
    const next = { ...before, ...changes }
    selection.value = next
    if (next.loader !== before.loader) read(OF_LOADER)
    else if (next.rank !== before.rank) read(DRAWN)
    else read(next.range === before.range ? ['series'] : ZOOMED)
  }

  const unsubscribe = subscribe([`run:${runId}`], { onEvent, onMissed: refreshAll })
  refresh(isListed ? ALL : ['run'])
  const isKnown = computed(() => parts.run.value !== null)
  const stopWaiting = effect(() => {
    if (isKnown.value) untracked(readBeside)
  })

  /** Once the run is known to be there. Of the earlier run once for all: it does not change. */
  function readBeside(): void {
    if (!isListed) refresh(BESIDE)
    void previous.read()
  }

  return {
    ...parts,
    /** The run of the same job that began last before this one. */
    previous,
    still: stillOf(parts.run),
    selection,
    /** The diagnosis of the loader that is shown; `diagnosis` is the run's own. */
    shown: shownOf(selection, parts),
    /** Parts whose last reading failed; what was read before stays. */
    troubles: computed(() => {
      const asked = selection.value.loader === null ? ALL.filter(name => name !== 'ofLoader') : ALL
      return new Map(asked.flatMap(name => troubleOf(name, parts[name].trouble.value)))
    }),
    isMissing: computed(() => isMissing('run', parts.run.trouble.value)),
    select,
    /** To the steps between two instants of what is shown now, in seconds of the run clock. */
    zoom(fromS: number, toS: number) {
      const shown = columnsNow()
      if (shown) select({ range: { kind: 'steps', from: stepAt(shown, fromS), to: stepAt(shown, toS) + 1 } })
    },
    close() {
      unsubscribe()
      stopWaiting()
      for (const each of [...Object.values(parts), previous]) each.close()
    },
  }
}

function isMissing(part: Part, trouble: ServiceError | null): boolean {
  return part === 'run' && trouble?.status === 404
}

function troubleOf(part: Part, trouble: ServiceError | null): readonly (readonly [Part, ServiceError])[] {
  return trouble && !isMissing(part, trouble) ? [[part, trouble]] : []
}

/** Until the chosen loader's is there, the one before stays; the run's own, where it cannot be read. */
function shownOf(
  selection: ReadonlySignal<Selection>,
  { diagnosis, ofLoader }: Record<'diagnosis' | 'ofLoader', Resource<Diagnosis>>,
): ReadonlySignal<Diagnosis | null> {
  let shown: Diagnosis | null = null
  return computed(() => {
    const { loader } = selection.value
    const found = loader === null ? diagnosis.value : ofLoader.value
    if (loader === null || found?.loader === loader) shown = found
    else if (ofLoader.trouble.value) shown = diagnosis.value
    return shown
  })
}

function stillOf(run: Resource<Run>): ReadonlySignal<Still | null> {
  let still: Still | null = null
  return computed(() => {
    const whole = run.value
    if (!whole) return null
    const parts: Partial<Run> = { ...whole }
    for (const name of MOVING) delete parts[name]
    still = reuse(still, parts as Still)
    return still
  })
}
