/** The run of the same job that began last before another one. */
import { get } from '../api/client'
import type { Run, RunSummary } from '../api/schema'

/** Of one job, those that began at about the same time are looked through. */
const MOST = 50
/** Most pages that are searched. */
const LONGEST = 500

/** Raises: NoAnswer, ServiceError. */
export async function readEarlier({
  run_id,
  job,
  started_at,
}: Pick<Run, 'run_id' | 'job' | 'started_at'>): Promise<RunSummary | null> {
  // No search can name a quote: the longest piece without one finds the job among others.
  const piece = job
    .split('"')
    .toSorted((a, b) => b.length - a.length)[0]
    ?.slice(0, LONGEST)
  if (!piece?.trim()) return null
  const q = `job:"${piece}" started<=${started_at.slice(0, 16)}`
  const { runs } = await get('/api/v1/runs', { query: { q, sort: '-started_at', limit: MOST } })
  const startedAt = Date.parse(started_at)
  const isEarlier = (one: RunSummary) => one.run_id !== run_id && Date.parse(one.started_at) < startedAt
  return runs.find(one => one.job === job && isEarlier(one)) ?? null
}
