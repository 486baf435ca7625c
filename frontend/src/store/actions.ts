/** What a person does to runs: put them away, take them out again, delete them; and how each is undone. */
import { computed, signal } from '@preact/signals'
import { change, NoAnswer, ServiceError } from '../api/client'
import { actions as say } from '../text'
import { service } from './connection'
import { changed, rows } from './runs'
import { clearSelection } from './selection'

export interface Notice {
  text: string
  undo: (() => Promise<void>) | null
}

/** So long a notice stays; the service itself can bring a deleted run back for ten minutes. */
const SHOWN_MS = 15_000

export const notice = signal<Notice | null>(null)
/** Whether the service would let us. */
export const mayChange = computed(() => service.value?.scopes.includes('admin') ?? false)

let timer: ReturnType<typeof setTimeout> | undefined

type Act = (runId: string) => Promise<void>

const at = (runId: string) => `/api/v1/runs/${encodeURIComponent(runId)}`
const putAway: Act = runId => change('PATCH', at(runId), { archived: true })
const takeOut: Act = runId => change('PATCH', at(runId), { archived: false })
const erase: Act = runId => change('DELETE', at(runId))
const restore: Act = runId => change('POST', `${at(runId)}/restore`)

/** `null` gives a name back to what the agent says. */
export interface Changes {
  name?: string | null
  tags?: Record<string, string>
  notes?: string
}

/** Raises: ServiceError, NoAnswer. */
export const edit = (runId: string, changes: Changes) => change('PATCH', at(runId), changes)

/** Undone, each has the tags that it has now. */
export function retag(
  ids: readonly string[],
  added: Readonly<Record<string, string>>,
  removed: readonly string[],
): Promise<readonly string[]> {
  const had = new Map(ids.map(id => [id, rows.get(id)?.peek().tags ?? {}]))
  const give = (id: string, tags: Record<string, string>) => edit(id, { tags })
  const wanted = (id: string) => {
    const kept = Object.entries(had.get(id) ?? {}).filter(([key]) => !removed.includes(key))
    return { ...Object.fromEntries(kept), ...added }
  }
  return act(
    ids,
    id => give(id, wanted(id)),
    id => give(id, had.get(id) ?? {}),
    { done: say.tagged, isKept: true },
  )
}

export const archive = (ids: readonly string[]) => act(ids, putAway, takeOut, { done: say.archived })
export const unarchive = (ids: readonly string[]) => act(ids, takeOut, putAway, { done: say.unarchived })
export const remove = (ids: readonly string[]) => act(ids, erase, restore, { done: say.deleted })

interface Told {
  done(count: number): string
  /** The runs stay in the list, and chosen. */
  isKept?: boolean
}

/** Returns the runs it was done to. */
async function act(ids: readonly string[], doing: Act, undoing: Act, told: Told): Promise<readonly string[]> {
  const { done, failure } = await each(ids, doing)
  if (!told.isKept) clearSelection()
  changed(told.isKept ? [] : done)
  const undo = async () => {
    const back = await each(done, undoing)
    changed()
    if (back.failure) show({ text: back.failure, undo: null })
    else dismiss()
  }
  const words = [done.length > 0 ? told.done(done.length) : '', failure ?? ''].filter(Boolean)
  show({ text: words.join(' '), undo: done.length > 0 ? undo : null })
  return done
}

/** From so many on, how far it is is told. */
const MANY = 10

/** One after the other: each is on disk before the next. What fails does not keep the others from being done. */
async function each(ids: readonly string[], doing: Act): Promise<{ done: string[]; failure: string | null }> {
  const done: string[] = []
  let failure: string | null = null
  for (const [index, id] of ids.entries()) {
    if (ids.length >= MANY) show({ text: say.progress(index, ids.length), undo: null })
    try {
      await doing(id)
      done.push(id)
    } catch (error) {
      if (!(error instanceof ServiceError || error instanceof NoAnswer)) throw error
      failure = say.failed(error.message)
    }
  }
  return { done, failure }
}

export function show(next: Notice): void {
  clearTimeout(timer)
  notice.value = next
  timer = setTimeout(dismiss, SHOWN_MS)
}

export function dismiss(): void {
  clearTimeout(timer)
  notice.value = null
}
