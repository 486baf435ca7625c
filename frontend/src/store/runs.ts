/** The list of runs: rows that change in place, and an order that never changes under the pointer. */
import { batch, computed, type Signal, signal } from '@preact/signals'
import { get, type ServiceError } from '../api/client'
import type { RunEvent, RunSummary, RunsPage, StatusCounts, Week } from '../api/schema'
import { formatTags } from '../format'
import { subscribe } from './connection'
import { isFiltered, MOST, type RunsFilter, requested } from './filter'
import { movedRows, sortedIds } from './order'
import { onlyNewest, openResource } from './resource'
import { openSelection } from './selection'
import { throttled } from './throttle'

const PAGE = 200
/** A menu holds no more; the search finds any. */
const MOST_TAGS = 100
/** Counts and the week's sentence are of all runs: read again this often while runs report. */
const OVERALL_MS = 30_000
/** Many runs report in a second: sorting thousands for each would keep the page busy. */
const SETTLE_MS = 500
/** A new run needs the service to say whether it matches and where it stands. */
const RELOAD_MS = 2_000

/** Of all runs that were not archived, whatever is asked for. */
export interface Overall {
  total: number | null
  week: Week
}

/** What runs can be filtered by; hosts and tags are those of the runs in the list. */
export interface Choices {
  projects: readonly string[]
  users: readonly string[]
  hosts: readonly string[]
  tags: readonly string[]
}

export type RunsStore = ReturnType<typeof openRuns>

export function openRuns() {
  const rows = new Map<string, Signal<RunSummary>>()
  const order = signal<readonly string[]>([])
  /** By run: what the columns show of its configuration. */
  const config = signal<NonNullable<RunsPage['config']>>({})
  const counts = signal<StatusCounts | null>(null)
  const isLoaded = signal(false)
  const cursor = signal<string | null>(null)
  const failure = signal<ServiceError | null>(null)
  const pending = signal({ moves: 0, fresh: 0 })
  const requests = onlyNewest(failure)
  const overall = openResource<Overall>(
    stop => get('/api/v1/runs', { query: { limit: 1 } }, stop).then(overallOf),
    { restMs: OVERALL_MS },
  )
  const projects = openResource(stop => get('/api/v1/projects', {}, stop))
  const users = openResource(stop => get('/api/v1/users', {}, stop))

  let filter: RunsFilter | null = null
  let readingOn: Promise<void> | null = null
  let isHeld = false
  /** Only the service knows the order: a run ended, or events were missed. */
  let isStale = false
  /** Runs with events that are not in the list and not requested since. */
  const unseen = new Set<string>()
  /** Requested and not in the list: the filter leaves them out, or they are on a later page. */
  const elsewhere = new Set<string>()

  async function read(from: string | null, before: readonly string[], limit: number): Promise<void> {
    const asking = filter
    if (!asking) return
    const wereUnseen = [...unseen]
    isStale = false
    await requests.read(
      stop => get('/api/v1/runs', { query: requested(asking, limit, from) }, stop),
      page => {
        take(page, before)
        for (const id of wereUnseen) {
          unseen.delete(id)
          if (!order.value.includes(id)) elsewhere.add(id)
        }
        settle()
      },
    )
  }

  function take(page: RunsPage, before: readonly string[]): void {
    batch(() => {
      for (const run of page.runs) keep(run)
      config.value = before.length > 0 ? { ...config.value, ...page.config } : (page.config ?? {})
      order.value = [...new Set([...before, ...page.runs.map(run => run.run_id)])]
      counts.value = page.counts
      const isOfAll = filter !== null && !isFiltered(filter)
      overall.put({ week: page.week, total: isOfAll ? page.counts.all : (overall.peek()?.total ?? null) })
      cursor.value = page.next_cursor
      isLoaded.value = true
    })
  }

  function keep(run: RunSummary): void {
    const row = rows.get(run.run_id)
    if (row) row.value = run
    else rows.set(run.run_id, signal(run))
  }

  /** Reads what comes after the rows that were read; one request at a time. */
  async function readOn(limit: number): Promise<void> {
    if (!cursor.value) return
    readingOn ??= read(cursor.value, order.value, limit).finally(() => {
      readingOn = null
    })
    await readingOn
  }

  /** Reads again what is shown; beyond what one answer holds, scrolling reads on. */
  function reload(): Promise<void> {
    return read(null, [], Math.min(MOST, Math.max(PAGE, order.value.length)))
  }

  /** Waits while the pointer is in the table. */
  const reloadSoon = throttled(() => {
    if (!isHeld) void reload()
  }, RELOAD_MS)
  const settleSoon = throttled(settle, SETTLE_MS)

  function onEvent({ run, deleted }: RunEvent): void {
    if ((deleted ?? false) !== (filter?.deleted ?? false)) {
      onGone(run.run_id)
      return
    }
    const row = rows.get(run.run_id)
    const before = row?.peek()
    const hasEnded = before !== undefined && before.status !== run.status
    const wasArchived = before !== undefined && (before.archived_at === null) !== (run.archived_at === null)
    if (row) row.value = run
    if (!elsewhere.has(run.run_id) && !order.value.includes(run.run_id)) unseen.add(run.run_id)
    isStale ||= hasEnded || wasArchived
    // The first verdict of the week: until the next reading the head would say that there is none.
    if (run.hours_lost !== null && overall.peek()?.week.hours_used === 0) void overall.read()
    else overall.refresh()
    settleSoon()
  }

  /**
   * Deleted on this page or another, or restored while deleted ones are shown: it leaves at once, even from under the
   * pointer, and is asked for again when it comes back.
   */
  function onGone(id: string): void {
    unseen.delete(id)
    elsewhere.delete(id)
    if (!order.value.includes(id)) return
    order.value = order.value.filter(other => other !== id)
    onMissed()
  }

  function onMissed(): void {
    isStale = true
    settle()
  }

  /** Puts rows in order, or says what that would do. */
  function settle(): void {
    if (!filter || !isLoaded.value) return
    const sorted = sortedIds(order.value, rows, filter.sort)
    const moves = movedRows(order.value, sorted)
    if (!isHeld && (unseen.size > 0 || isStale)) reloadSoon()
    if (!isHeld && moves > 0) order.value = sorted
    pending.value = isHeld ? { moves, fresh: unseen.size } : { moves: 0, fresh: 0 }
  }

  return {
    rows,
    config,
    order,
    selection: openSelection(order),
    counts,
    overall,
    choices: computed(
      (): Choices => ({
        projects: projects.value?.map(each => each.project) ?? [],
        users: users.value?.map(each => each.user).filter(Boolean) ?? [],
        ...listed(order.value.flatMap(id => rows.get(id)?.peek() ?? [])),
      }),
    ),
    isLoaded,
    /** More runs match than were read: scrolling reads on. */
    isPartial: computed(() => cursor.value !== null),
    trouble: computed(() => (refusalIn(failure.value) === null ? failure.value : null)),
    /** Why the service does not understand the search; the rows of the last one that it did stay. */
    refusal: computed(() => refusalIn(failure.value)),
    /** What sorting again would do: shown while the pointer or the focus holds the table. */
    pending,
    /** Follows the events of all runs until the returned function is called. */
    follow() {
      void projects.read()
      void users.read()
      return subscribe(['runs'], { onEvent, onMissed })
    },
    /** Reads the first page of what is asked for; the rows of the last question stay until then. */
    async load(asking: RunsFilter) {
      filter = asking
      elsewhere.clear()
      await read(null, [], PAGE)
      if ((overall.peek()?.total ?? null) === null) await overall.read()
    },
    /** The next page, appended. */
    more: () => readOn(PAGE),
    /** All that match, however many: for what is done to all of them. A reload meanwhile may cut it short. */
    async readRest() {
      for (let before = -1; cursor.value && order.value.length > before; ) {
        before = order.value.length
        await readOn(MOST)
      }
    },
    /** While the pointer or the focus is in the table, rows stay where they are. */
    hold(held: boolean) {
      isHeld = held
      settle()
    },
    /** The reader asks for it: sort again, under the pointer or not. */
    resort() {
      if (unseen.size > 0 || isStale) void reload()
      else if (filter) {
        order.value = sortedIds(order.value, rows, filter.sort)
        pending.value = { moves: 0, fresh: 0 }
      }
    },
    /** Somebody on this page changed runs; `gone` are no longer in the list. */
    changed(gone: readonly string[] = []) {
      const left = new Set(gone)
      order.value = order.value.filter(id => !left.has(id))
      elsewhere.clear()
      void reload()
    },
    close() {
      for (const each of [overall, projects, users]) each.close()
      reloadSoon.cancel()
      settleSoon.cancel()
      requests.stop()
    },
  }
}

function overallOf({ counts, week }: RunsPage): Overall {
  return { total: counts.all, week }
}

/** Of a search that the service does not understand. */
function refusalIn(failure: ServiceError | null): string | null {
  return failure?.field === 'q' ? failure.message : null
}

function listed(runs: readonly RunSummary[]): Pick<Choices, 'hosts' | 'tags'> {
  const hosts = new Set(runs.flatMap(run => run.hostnames))
  const tags = new Set(runs.flatMap(run => formatTags(run.tags)))
  return { hosts: [...hosts].sort(), tags: [...tags].sort().slice(0, MOST_TAGS) }
}
