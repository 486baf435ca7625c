/** What a person does to runs: archive, tag, delete; and how each is undone. */
import { change, NoAnswer, ServiceError } from '../api/client'
import { actions as say } from '../text/shared'
import { service } from './connection'
import { dismiss, show } from './notice'
import type { RunsStore } from './runs'

type Act = (runId: string) => Promise<void>

const at = (runId: string) => `/api/v1/runs/${encodeURIComponent(runId)}`
const archiveOne: Act = runId => change('PATCH', at(runId), { archived: true })
const unarchiveOne: Act = runId => change('PATCH', at(runId), { archived: false })
const deleteOne: Act = runId => change('DELETE', at(runId))
const restoreOne: Act = runId => change('POST', `${at(runId)}/restore`)

/** `null` restores the agent's name. */
export interface Changes {
  name?: string | null
  tags?: Record<string, string>
  notes?: string
}

/** Raises: ServiceError, NoAnswer. */
export const edit = (runId: string, changes: Changes) => change('PATCH', at(runId), changes)

/** Undone, each has the tags that it has now. The runs stay in the list, and chosen. */
export async function retag(
  runs: RunsStore,
  ids: readonly string[],
  added: Readonly<Record<string, string>>,
  removed: readonly string[],
): Promise<void> {
  const had = new Map(ids.map(id => [id, runs.rows.get(id)?.peek().tags ?? {}]))
  const give = (id: string, tags: Record<string, string>) => edit(id, { tags })
  const wanted = (id: string) => {
    const stay = Object.entries(had.get(id) ?? {}).filter(([key]) => !removed.includes(key))
    return { ...Object.fromEntries(stay), ...added }
  }
  const result = await each(ids, id => give(id, wanted(id)))
  runs.changed()
  announce(runs, say.tagged, result, id => give(id, had.get(id) ?? {}))
}

/** These return the runs it was done to; they leave the list. */
type Removal = (runs: RunsStore, ids: readonly string[]) => Promise<readonly string[]>
export const archive: Removal = removal(archiveOne, unarchiveOne, say.archived)
export const unarchive: Removal = removal(unarchiveOne, archiveOne, say.unarchived)
export const remove: Removal = removal(deleteOne, restoreOne, count => say.deleted(count, keepDeletedUs()))
export const restore: Removal = removal(restoreOne, deleteOne, say.restored)

/** How long the service keeps deleted runs; `null`: not known yet. */
export const keepDeletedUs = () => service.value?.keep_deleted_us ?? null

function removal(doing: Act, undoing: Act, said: (count: number) => string): Removal {
  return async (runs, ids) => {
    const result = await each(ids, doing)
    runs.selection.clear()
    runs.changed(result.done)
    announce(runs, said, result, undoing)
    return result.done
  }
}

interface Result {
  done: readonly string[]
  failure: string | null
}

function announce(
  runs: RunsStore,
  said: (count: number) => string,
  { done, failure }: Result,
  undoing: Act,
): void {
  const undo = async () => {
    const back = await each(done, undoing)
    runs.changed()
    if (back.failure) show(back.failure)
    else dismiss()
  }
  const words = [done.length > 0 ? said(done.length) : '', failure ?? ''].filter(Boolean)
  show(words.join(' '), done.length > 0 ? undo : null)
}

/** From so many runs on, progress is shown. */
const MANY = 10

/** One after the other: each is on disk before the next. One that fails does not stop the others. */
async function each(ids: readonly string[], doing: Act): Promise<Result> {
  const done: string[] = []
  let failure: string | null = null
  for (const [index, id] of ids.entries()) {
    if (ids.length >= MANY) show(say.progress(index, ids.length))
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
