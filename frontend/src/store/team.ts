/** What the team lost and could have back: read again while runs report, at most every few seconds. */
import { type Signal, signal } from '@preact/signals'
import { get, ServiceError } from '../api/client'
import type { Team } from '../api/names'
import { asked, follow } from './connection'
import { throttled } from './throttle'

/** Hours of a week change slowly, and are summed over all its runs each time. */
const REFRESH_MS = 15_000

export interface TeamStore {
  team: Signal<Team | null>
  trouble: Signal<ServiceError | null>
  close(): void
}

export function openTeam(): TeamStore {
  const team = signal<Team | null>(null)
  const trouble = signal<ServiceError | null>(null)

  async function read(): Promise<void> {
    try {
      team.value = (await asked(get('/api/v1/team', {}))) ?? team.peek()
      trouble.value = null
    } catch (error) {
      if (!(error instanceof ServiceError)) throw error
      trouble.value = error
    }
  }

  const readSoon = throttled(() => void read(), REFRESH_MS)
  const unfollow = follow(['runs'], readSoon, readSoon)
  readSoon()
  return {
    team,
    trouble,
    close() {
      unfollow()
      readSoon.cancel()
    },
  }
}
