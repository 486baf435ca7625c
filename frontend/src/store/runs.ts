/** The list of runs: rows that change in place, and an order that never changes under the pointer. */
import { batch, computed, type Signal, signal } from '@preact/signals'
import { get, ServiceError } from '../api/client'
import type { ProjectInfo, RunEvent, RunSummary, RunsPage, StatusCounts, UserInfo, Week } from '../api/names'
import { formatTag } from '../format'
import { asked } from './connection'
import { movedRows, sortedIds } from './order'
import { isFiltered, MOST, type RunsQuery, requested } from './query'
import { throttled } from './throttle'

const PAGE = 200
/** Answers of the most that one holds: more than any team has. */
const MOST_TRIES = 20
/** A menu holds no more; the search finds any. */
const MOST_TAGS = 100
/** Counts and the week's sentence are of all runs: read again this often while runs report. */
const SUMMARY_MS = 30_000
/** Many runs tick in a second: putting thousands in order for each would be all that the page does. */
const SETTLE_MS = 500
/** A new run needs the service to say whether it matches and where it stands. */
const RELOAD_MS = 2_000

export const rows = new Map<string, Signal<RunSummary>>()
export const order = signal<readonly string[]>([])
export const counts = signal<StatusCounts | null>(null)
/** Of all runs that were not put away, whatever is asked for. */
export const total = signal<number | null>(null)
export const week = signal<Week | null>(null)
export const isLoaded = signal(false)
/** More runs match than were read: scrolling reads on. */
export const isPartial = signal(false)
export const trouble = signal<ServiceError | null>(null)
/** Why the service does not understand the search; the rows of the last one that it did stay. */
export const refusal = signal<string | null>(null)
/** What sorting again would do: shown while the pointer or the focus holds the table. */
export const pending = signal<{ moves: number; fresh: number }>({ moves: 0, fresh: 0 })
/** What runs can be chosen by. */
export const projects = signal<readonly string[]>([])
export const users = signal<readonly string[]>([])
/** Hosts and tags of what is listed. They are read when the list changes, not when a run ticks. */
export const listed = computed(() => {
  const [hosts, tags] = [new Set<string>(), new Set<string>()]
  for (const id of order.value) {
    const run = rows.get(id)?.peek()
    for (const host of run?.hostnames ?? []) hosts.add(host)
    for (const [key, value] of Object.entries(run?.tags ?? {})) tags.add(formatTag(key, value))
  }
  return { hosts: [...hosts].sort(), tags: [...tags].sort().slice(0, MOST_TAGS) }
})

let query: RunsQuery | null = null
let cursor: string | null = null
let inFlight: AbortController | null = null
let isHeld = false
/** Something happened that only the service can put in its place: a run ended, or events were missed. */
let isStale = false
/** Runs heard of that are not in the list, and of which the service was not asked since. */
const unseen = new Set<string>()
/** Those it was asked about: left out by the filter, or on a later page. */
const elsewhere = new Set<string>()

function request(asking: RunsQuery, from: string | null, limit: number): Promise<RunsPage | null> {
  inFlight?.abort()
  inFlight = new AbortController()
  return asked(get('/api/v1/runs', { query: requested(asking, limit, from) }, inFlight.signal))
}

function keep(runs: readonly RunSummary[]): readonly string[] {
  for (const run of runs) {
    const row = rows.get(run.run_id)
    if (row) row.value = run
    else rows.set(run.run_id, signal(run))
  }
  return runs.map(run => run.run_id)
}

function take(page: RunsPage, before: readonly string[]): void {
  batch(() => {
    const ids = keep(page.runs)
    const known = new Set(before)
    order.value = [...before, ...ids.filter(id => !known.has(id))]
    counts.value = page.counts
    if (query && !isFiltered(query)) total.value = page.counts.all
    week.value = page.week
    cursor = page.next_cursor
    isPartial.value = cursor !== null
    trouble.value = refusal.value = null
    isLoaded.value = true
  })
}

async function read(
  asking: RunsQuery,
  from: string | null,
  before: readonly string[],
  limit = PAGE,
): Promise<void> {
  const answered = [...unseen]
  isStale = false
  try {
    const page = await request(asking, from, limit)
    if (!page || asking !== query) return
    take(page, before)
    for (const id of answered) {
      unseen.delete(id)
      if (!order.value.includes(id)) elsewhere.add(id)
    }
    settle()
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error
    if (error.field === 'q') refusal.value = error.message
    else trouble.value = error
  }
}

/** The names that the filters offer. They are a help: without them the list is what it is. */
export async function readChoices(): Promise<void> {
  const reading = [get('/api/v1/projects', {}), get('/api/v1/users', {})] as const
  const [byProject, byUser] = await Promise.all(reading.map(each => asked<unknown>(each).catch(() => null)))
  if (byProject) projects.value = (byProject as ProjectInfo[]).map(each => each.project)
  if (byUser) users.value = (byUser as UserInfo[]).map(each => each.user).filter(Boolean)
}

/** Reads the first page of what is asked for; the rows of the last question stay until then. */
export async function load(asking: RunsQuery): Promise<void> {
  query = asking
  elsewhere.clear()
  await read(asking, null, [])
  if (total.value === null) await refreshSummaries()
}

/** The next page, appended; nothing when there is none or one is on its way. */
export async function more(): Promise<void> {
  if (!query || !cursor) return
  const from = cursor
  cursor = null
  await read(query, from, order.value)
}

/** All that match, however many: for what is done to all of them. What else reads the list meanwhile may cut it short. */
export async function readRest(): Promise<void> {
  for (let tries = 0; query && isPartial.value && tries < MOST_TRIES; tries++) {
    const from = cursor
    cursor = null
    await read(query, from, from ? order.value : [], MOST)
  }
}

/** Everything that is shown, read again; beyond the most that one answer holds, scrolling reads on. */
async function reload(): Promise<void> {
  if (query) await read(query, null, [], Math.min(MOST, Math.max(PAGE, order.value.length)))
}

/** The pointer may have come in since: then it waits until it leaves. */
const reloadSoon = throttled(() => {
  if (!isHeld) void reload()
}, RELOAD_MS)
const settleSoon = throttled(() => settle(), SETTLE_MS)
const readSummaries = throttled(() => void refreshSummaries(), SUMMARY_MS)

async function refreshSummaries(): Promise<void> {
  const page = await asked(get('/api/v1/runs', { query: { limit: 1 } })).catch(() => null)
  if (!page) return
  week.value = page.week
  total.value = page.counts.all
}

export function onEvent(event: RunEvent): void {
  const id = event.run.run_id
  if (event.deleted) {
    gone(id)
    return
  }
  const row = rows.get(id)
  const before = row?.peek()
  const ended = before !== undefined && before.status !== event.run.status
  const wasPut = before !== undefined && (before.archived_at === null) !== (event.run.archived_at === null)
  if (row) row.value = event.run
  if (!elsewhere.has(id) && !order.value.includes(id)) unseen.add(id)
  isStale ||= ended || wasPut
  readSummaries()
  settleSoon()
}

/** Deleted here or elsewhere: it leaves at once, also from under the pointer; what is gone cannot be pressed. */
function gone(id: string): void {
  unseen.delete(id)
  if (!order.value.includes(id)) return
  order.value = order.value.filter(other => other !== id)
  isStale = true
  settle()
}

/** Somebody on this page took these runs out of the list, or brought them back. */
export function changed(gone: readonly string[] = []): void {
  const left = new Set(gone)
  order.value = order.value.filter(id => !left.has(id))
  elsewhere.clear()
  if (query) void reload()
}

/** Events were missed: whatever is shown may be old. */
export function catchUp(): void {
  isStale = true
  settle()
}

/** While the pointer or the focus is in the table, rows stay where they are. */
export function hold(held: boolean): void {
  isHeld = held
  settle()
}

/** The reader asks for it: sort again, under the pointer or not. */
export function resort(): void {
  if (unseen.size > 0 || isStale) void reload()
  else sortNow()
}

function settle(): void {
  if (!query || !isLoaded.value) return
  const wanted = sortedIds(order.value, rows, query.sort)
  const moves = movedRows(order.value, wanted)
  if (!isHeld && (unseen.size > 0 || isStale)) reloadSoon()
  if (!isHeld && moves > 0) order.value = wanted
  pending.value = isHeld ? { moves, fresh: unseen.size } : { moves: 0, fresh: 0 }
}

function sortNow(): void {
  if (!query) return
  order.value = sortedIds(order.value, rows, query.sort)
  pending.value = { moves: 0, fresh: unseen.size }
}
