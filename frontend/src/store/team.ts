/** What the team lost and could have back. */
import { get } from '../api/client'
import type { Team } from '../api/schema'
import { openResource, type Resource } from './resource'

/** Hours of a week change slowly, and are summed over all its runs each time. */
const REST_MS = 15_000

export function openTeam(): Resource<Team> {
  return openResource<Team>(stop => get('/api/v1/team', {}, stop), { restMs: REST_MS, topics: ['runs'] })
}
