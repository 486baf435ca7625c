/** Which runs are compared, as it stands in the address. */
import { NoAnswer, ServiceError } from '../api/client'
import type { Run } from '../api/schema'
import { readEarlier } from './earlier'

export const MOST_COMPARED = 8

/** Which runs, in the order of the address; each once, no more than can be compared. */
export function chosenRuns(query: URLSearchParams): readonly string[] {
  return [...new Set(query.getAll('run_id').filter(Boolean))].slice(0, MOST_COMPARED)
}

/** The first is the baseline; what else `query` holds stays. */
export function compareHref(ids: readonly string[], query = new URLSearchParams()): string {
  const next = new URLSearchParams(query)
  next.delete('run_id')
  for (const id of ids) next.append('run_id', id)
  return next.size > 0 ? `/compare?${next}` : '/compare'
}

/** With the newest earlier run of the same job, else alone, to choose another one. */
export async function compareWithEarlier(run: Pick<Run, 'run_id' | 'job' | 'started_at'>): Promise<string> {
  try {
    const earlier = await readEarlier(run)
    return compareHref(earlier ? [earlier.run_id, run.run_id] : [run.run_id])
  } catch (error) {
    if (!(error instanceof ServiceError || error instanceof NoAnswer)) throw error
    return compareHref([run.run_id])
  }
}
