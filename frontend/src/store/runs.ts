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
import { inTurn, throttled } from './throttle'

const PAGE = 200
/** A menu holds no more; the search finds any. */
const MOST_TAGS = 100
/** Counts and the week's sentence are of all runs: read again this often while runs report. */
const OVERALL_MS = 30_000
/** Many runs report in a second: sorting thousands for each would keep the page busy. */
const SETTLE_MS = 500
/** A new run needs the service to say whether it matches and where it stands. */
const RELOAD_MS = 2_000
/** Only the service knows whether runs match by their figures or their age: it is asked again so often while they report. */
const DOUBT_MS = 30_000

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
  /** Of what is asked for. */
  const week = openResource<Week>(readWeek, { restMs: OVERALL_MS })
  /** How many runs there are that were not archived, whatever is asked for. */
  const total = openResource<number>(
    stop => get('/api/v1/runs', { query: { limit: 1 } }, stop).then(page => page.counts.all),
    { restMs: OVERALL_MS },
  )
  const projects = openResource(stop => get('/api/v1/projects', {}, stop))
  const users = openResource(stop => get('/api/v1/users', {}, stop))

  let filter: RunsFilter | null = null
  /** The list from its beginning, while it is asked for. */
  let reading: Promise<void> | null = null
  let readingOn: Promise<void> | null = null
  let isHeld = false
  /** Only the service knows the order: a run ended, or events were missed. */
  let isStale = false
  /** Runs with events that are not in the list and not requested since, with what they are like. */
  const unseen = new Map<string, string>()
  /** Requested and not in the list, with what they were like: the filter leaves them out, or they are on a later page. */
  const elsewhere = new Map<string, string>()
  /** When the service said last which runs are in the list. */
  let answeredAt = 0
  /** Answers that left before a run was deleted still have it. */
  const gone = new Set<string>()

  function readWeek(stop: AbortSignal): Promise<Week> {
    const asking = filter ? requested(filter, 1, null) : { limit: 1 }
    return get('/api/v1/runs', { query: asking }, stop).then(page => {
      if (!isFiltered(filter)) total.put(page.counts.all)
      return page.week
    })
  }

  /** `isNext`: what comes after the rows that were read, which stay. */
  async function read(isNext: boolean, limit: number): Promise<void> {
    const asking = filter
    if (!asking) return
    const wereUnseen = new Map(unseen)
    const wasStale = isStale
    isStale &&= isNext
    let isAnswered = false
    await requests.read(
      stop => get('/api/v1/runs', { query: requested(asking, limit, isNext ? cursor.peek() : null) }, stop),
      page => {
        isAnswered = true
        take(page, isNext ? order.peek() : [])
        for (const [id, like] of wereUnseen) {
          const isListed = order.value.includes(id)
          // A later page says nothing of the rows before it.
          if (isNext && !isListed) continue
          if (unseen.get(id) === like) unseen.delete(id)
          if (!isListed) elsewhere.set(id, like)
        }
        if (!isNext) answeredAt = Date.now()
        settle()
      },
    )
    // What was to be caught up with still is.
    if (!isAnswered && asking === filter) isStale ||= wasStale
  }

  function take(page: RunsPage, before: readonly string[]): void {
    batch(() => {
      const found = page.runs.filter(run => !gone.has(run.run_id))
      for (const run of found) keep(run)
      config.value = before.length > 0 ? { ...config.value, ...page.config } : (page.config ?? {})
      order.value = [...new Set([...before, ...found.map(run => run.run_id)])]
      counts.value = page.counts
      week.put(page.week)
      if (filter !== null && !isFiltered(filter)) total.put(page.counts.all)
      cursor.value = page.next_cursor
      isLoaded.value = true
    })
  }

  /** An event may be newer than an answer that comes after it. */
  function keep(run: RunSummary): void {
    const row = rows.get(run.run_id)
    if (!row) rows.set(run.run_id, signal(run))
    else if (row.peek().last_seen_at <= run.last_seen_at) row.value = run
  }

  function readFromStart(limit: number): Promise<void> {
    const mine = read(false, limit).finally(() => {
      if (reading === mine) reading = null
    })
    reading = mine
    return mine
  }

  /** Reads what comes after the rows that were read. Requests of one list wait for each other, and none cancels another. */
  async function readOn(limit: number): Promise<void> {
    await reading
    if (!cursor.value) return
    readingOn ??= read(true, limit).finally(() => {
      readingOn = null
    })
    await readingOn
  }

  /** Reads again what is shown; beyond what one answer holds, scrolling reads on. */
  const reload = inTurn(async () => {
    await readingOn
    await readFromStart(Math.min(MOST, Math.max(PAGE, order.value.length)))
  })

  /** Waits while the pointer is in the table, and for the answer: a slow one still arrives. */
  const reloadSoon = throttled(() => (isHeld ? null : reload()), RELOAD_MS)
  const settleSoon = throttled(settle, SETTLE_MS)

  function onEvent({ run, deleted }: RunEvent): void {
    if ((deleted ?? false) !== (filter?.deleted ?? false)) {
      onGone(run.run_id)
      return
    }
    const row = rows.get(run.run_id)
    const before = row?.peek()
    const [like, wasLike] = [likeness(run), before && likeness(before)]
    const isListed = order.value.includes(run.run_id)
    gone.delete(run.run_id)
    if (row) row.value = run
    if (!isListed && mayMatchNow(run.run_id, like)) unseen.set(run.run_id, like)
    isStale ||=
      before !== undefined &&
      (isFiltered(filter) ? isListed && (wasLike !== like || isInDoubt()) : isEnd(before, run))
    // The first verdict of the week: until the next reading the head would say that there is none.
    if (run.hours_lost !== null && week.peek()?.hours_used === 0) void week.read()
    else week.refresh()
    if (isFiltered(filter)) total.refresh()
    settleSoon()
  }

  /** Of one that is not in the list: it was not asked for yet, or is another now than when it was, or may be. */
  function mayMatchNow(id: string, like: string): boolean {
    return elsewhere.get(id) !== like || isInDoubt()
  }

  function isInDoubt(): boolean {
    return isFiltered(filter) && Date.now() - answeredAt >= DOUBT_MS
  }

  /**
   * Deleted on this page or another, or restored while deleted ones are shown: it leaves at once, even from under the
   * pointer, and is asked for again when it comes back.
   */
  function onGone(id: string): void {
    unseen.delete(id)
    elsewhere.delete(id)
    gone.add(id)
    if (!order.value.includes(id)) return
    order.value = order.value.filter(other => other !== id)
    onMissed()
  }

  function onMissed(): void {
    isStale = true
    // Opened while nobody answered.
    for (const each of [total, projects, users]) if (each.peek() === null) void each.read()
    if (filter && !isLoaded.peek()) reloadSoon()
    else settle()
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
    week,
    total,
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
      await readFromStart(PAGE)
      if (total.peek() === null) await total.read()
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
      for (const each of [week, total, projects, users]) each.close()
      reloadSoon.cancel()
      settleSoon.cancel()
      requests.stop()
    },
  }
}

/** What a filter may ask of a run, but for its figures: these move with every window. */
function likeness({ status, bound, level, cause, archived_at, name, project, tags }: RunSummary): string {
  return JSON.stringify([status, bound, level, cause, archived_at === null, name, project, tags])
}

/** Its counts and its place are others now. */
function isEnd(before: RunSummary, now: RunSummary): boolean {
  return before.status !== now.status || (before.archived_at === null) !== (now.archived_at === null)
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
