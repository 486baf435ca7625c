/** What the team lost and could have back. */
import { get } from '../api/client'
import type { Team } from '../api/names'
import { asked } from './connection'
import { type Followed, openFollowed } from './followed'

/** Hours of a week change slowly, and are summed over all its runs each time. */
const REFRESH_MS = 15_000

export function openTeam(): Followed<Team> {
  return openFollowed((_, stop) => asked(get('/api/v1/team', {}, stop)), REFRESH_MS)
}
