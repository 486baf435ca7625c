/** One run on its page: its parts, each read on its own, and kept fresh at most once in two seconds. */
import { computed, type ReadonlySignal, type Signal, signal } from '@preact/signals'
import { get, ServiceError } from '../api/client'
import type { Diagnosis, Run, RunEvent, SeriesPage, Timeline, WorkersPage } from '../api/names'
import { RUN_METRICS } from '../charts/declared/run'
import { newestFrom, type StepColumns, stepAt, stepColumns } from './columns'
import { asked, follow } from './connection'
import { readEarlier } from './earlier'
import { kept } from './kept'
import { throttled } from './throttle'

export type Part = 'run' | 'diagnosis' | 'series' | 'workers' | 'timeline'
const ALL: readonly Part[] = ['run', 'diagnosis', 'series', 'workers', 'timeline']
/** Read for the stretch that is shown. */
const ZOOMED: readonly Part[] = ['series', 'workers']
const DRAWN: readonly Part[] = ['series', 'workers', 'timeline']

export type Range =
  | { kind: 'whole' }
  | { kind: 'newest'; spanS: number }
  | { kind: 'steps'; from: number; to: number }

/** Of a bucket's steps: their mean by parts, or the spread of their whole time. */
export type Figures = 'mean' | 'percentiles'

export interface Selection {
  rank: number | null
  loader: string | null
  range: Range
  figures: Figures
}

/** Calmer than one bucket a pixel, which turns a stacked area into a solid block of spikes. */
const BUCKETS = 240
const BUCKETS_NARROW = 120
/** Of fewer steps a 95th percentile is nothing but their greatest. */
const STEPS_OF_A_SPREAD = 20
/** A live run's parts are read again at most so often: what moves by the minute is not redrawn by the second. */
const REST_MS: Record<Part, number> = {
  run: 3_000,
  diagnosis: 2_000,
  series: 3_000,
  workers: 6_000,
  timeline: 6_000,
}

/** What of a run moves with each of its windows. */
const MOVING = [
  ...(['steps', 'last_seen_at', 'spark', 'hours_lost', 'gpu_hours_lost', 'data_stall_fraction'] as const),
  ...(['step_us', 'steps_per_s', 'samples_per_s', 'overhead_us', 'outlook'] as const),
] as const

/** The rest of it: another object only when something of it changed. */
export type Still = Omit<Run, (typeof MOVING)[number]>

export interface RunStore {
  run: Signal<Run | null>
  still: ReadonlySignal<Still | null>
  diagnosis: Signal<Diagnosis | null>
  series: Signal<SeriesPage | null>
  workers: Signal<WorkersPage | null>
  timeline: Signal<Timeline | null>
  /** The run of the same job that began last before this one. */
  previous: Signal<Run | null>
  selection: Signal<Selection>
  /** Parts whose last reading failed; what was read before stays. */
  troubles: Signal<ReadonlyMap<Part, ServiceError>>
  isMissing: Signal<boolean>
  select(changes: Partial<Selection>): void
  /** To the steps between two instants of what is shown now, in seconds of the run clock. */
  zoom(fromS: number, toS: number): void
  close(): void
}

const EVERYTHING: Selection = { rank: null, loader: null, range: { kind: 'whole' }, figures: 'mean' }

export function openRun(runId: string, first: Selection = EVERYTHING): RunStore {
  const run = signal<Run | null>(null)
  const store = {
    run,
    still: stillOf(run),
    diagnosis: signal<Diagnosis | null>(null),
    series: signal<SeriesPage | null>(null),
    workers: signal<WorkersPage | null>(null),
    timeline: signal<Timeline | null>(null),
    previous: signal<Run | null>(null),
    selection: signal<Selection>(first),
    troubles: signal<ReadonlyMap<Part, ServiceError>>(new Map()),
    isMissing: signal(false),
  }
  const path = { run_id: runId }
  const inFlight = new Map<Part, AbortController>()
  /** Of the last reading of the whole run. */
  let overview: StepColumns | null = null

  function chosen(): { rank?: number; loader?: string } {
    const { rank, loader } = store.selection.peek()
    return { ...(rank === null ? {} : { rank }), ...(loader === null ? {} : { loader }) }
  }

  const readers: Record<Part, (signal: AbortSignal) => Promise<void>> = {
    run: async signal => {
      const isFirst = store.run.peek() === null
      put(store.run, await asked(get('/api/v1/runs/{run_id}', { path }, signal)))
      if (isFirst && store.run.value) readPrevious(store.run.value).catch(() => undefined)
    },
    diagnosis: async signal =>
      put(store.diagnosis, await asked(get('/api/v1/runs/{run_id}/diagnosis', { path }, signal))),
    series: async signal => {
      const isFirst = overview === null
      const query = { metric: [...RUN_METRICS], ...chosen(), ...steps(), ...resolution() }
      const page = await asked(get('/api/v1/runs/{run_id}/series', { path, query }, signal))
      put(store.series, page)
      if (page && !('from_step' in query)) overview = stepColumns(page)
      // Opened by a link to the newest minutes: what they are is known only now.
      if (isFirst && store.selection.peek().range.kind === 'newest') {
        for (const part of ZOOMED) void read(part)
      }
    },
    workers: async signal =>
      put(
        store.workers,
        await asked(
          get('/api/v1/runs/{run_id}/workers', { path, query: { ...chosen(), ...steps() } }, signal),
        ),
      ),
    timeline: async signal =>
      put(
        store.timeline,
        await asked(get('/api/v1/runs/{run_id}/timeline', { path, query: chosen() }, signal)),
      ),
  }

  /** Once: what came before does not change. Without it there is nothing to compare, and nothing is wrong. */
  async function readPrevious(run: Run): Promise<void> {
    const earlier = await readEarlier(run)
    if (earlier) {
      store.previous.value = await get('/api/v1/runs/{run_id}', { path: { run_id: earlier.run_id } })
    }
  }

  function steps(): { from_step?: number; to_step?: number } {
    const { range } = store.selection.peek()
    if (range.kind === 'steps') return { from_step: range.from, to_step: range.to }
    const from = range.kind === 'newest' ? newestFrom(overview, columnsNow(), range.spanS) : null
    return from === null ? {} : { from_step: from }
  }

  function resolution(): { buckets: number; percentiles?: true } {
    const most = innerWidth < 700 ? BUCKETS_NARROW : BUCKETS
    if (store.selection.peek().figures === 'mean') return { buckets: most }
    const { from_step: from = 0, to_step: to = store.run.peek()?.steps ?? from } = steps()
    const room = Math.max(1, Math.floor((to - from) / STEPS_OF_A_SPREAD))
    return { buckets: Math.min(most, room), percentiles: true }
  }

  function columnsNow(): StepColumns | null {
    const page = store.series.peek()
    return page && stepColumns(page)
  }

  async function read(part: Part): Promise<void> {
    inFlight.get(part)?.abort()
    const control = new AbortController()
    inFlight.set(part, control)
    try {
      await readers[part](control.signal)
      if (store.troubles.value.has(part)) setTrouble(part, null)
    } catch (error) {
      if (!(error instanceof ServiceError)) throw error
      if (part === 'run' && error.status === 404) store.isMissing.value = true
      else setTrouble(part, error)
    }
  }

  function setTrouble(part: Part, error: ServiceError | null): void {
    const next = new Map(store.troubles.value)
    if (error) next.set(part, error)
    else next.delete(part)
    store.troubles.value = next
  }

  const readDue = new Map(ALL.map(part => [part, throttled(() => void read(part), REST_MS[part])]))

  function refresh(parts: readonly Part[]): void {
    for (const part of parts) readDue.get(part)?.()
  }

  function onEvent(event: RunEvent): void {
    if (event.run.run_id !== runId) return
    const before = store.run.value
    const ended = before !== null && before.status !== event.run.status
    if (before) store.run.value = kept(before, { ...before, ...event.run })
    if (ended) for (const part of ALL) void read(part)
    else refresh(event.diagnosis_changed ? ALL : ['run', ...DRAWN])
  }

  const unfollow = follow([`run:${runId}`], onEvent, () => refresh(ALL))
  refresh(ALL)

  function select(changes: Partial<Selection>): void {
    const before = store.selection.value
    store.selection.value = { ...store.selection.value, ...changes }
    const { rank, loader, range } = store.selection.value
    const another = rank !== before.rank || loader !== before.loader
    const zoomed: readonly Part[] = range === before.range ? ['series'] : ZOOMED
    for (const part of another ? DRAWN : zoomed) void read(part)
  }

  return {
    ...store,
    select,
    zoom(fromS, toS) {
      const shown = columnsNow()
      if (shown) select({ range: { kind: 'steps', from: stepAt(shown, fromS), to: stepAt(shown, toS) + 1 } })
    },
    close() {
      unfollow()
      for (const due of readDue.values()) due.cancel()
      for (const control of inFlight.values()) control.abort()
    },
  }
}

function put<T>(target: Signal<T | null>, value: T | null): void {
  if (value !== null) target.value = kept(target.peek(), value)
}

function stillOf(run: Signal<Run | null>): ReadonlySignal<Still | null> {
  let still: Still | null = null
  return computed(() => {
    if (!run.value) return null
    const parts: Partial<Run> = { ...run.value }
    for (const name of MOVING) delete parts[name]
    still = kept(still, parts as Still)
    return still
  })
}
