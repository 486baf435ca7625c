/** The hosts, and one of them over time: read again while runs report, at most every few seconds. */
import { get, serviceNow } from '../api/client'
import type { HostsPage } from '../api/names'
import { asked } from './connection'
import { type Followed, openFollowed } from './followed'

const REFRESH_MS = 4_000
/** One interval for about three pixels. */
const BUCKETS = 240

/** `hostname`: this one alone, over the last `spanS` seconds that are known of it. */
export function openHosts(hostname: string | null, spanS: number): Followed<HostsPage> {
  return openFollowed((before, stop) => readHosts(hostname, spanS, before, stop), REFRESH_MS)
}

/** Up to now where the host is live; else the end is where it was heard of last, which a first answer tells. */
async function readHosts(
  hostname: string | null,
  spanS: number,
  before: HostsPage | null,
  signal: AbortSignal,
): Promise<HostsPage | null> {
  if (hostname === null) return asked(get('/api/v1/hosts', {}, signal))
  const known = before?.hosts[0]
  const end = known ? (known.is_live ? serviceNow() : Date.parse(known.last_seen_at)) : null
  if (end !== null) return readSpan(hostname, end - spanS * 1_000, end, signal)
  const first = await asked(get('/api/v1/hosts', { query: { hostname, buckets: 1 } }, signal))
  return first && readHosts(hostname, spanS, first, signal)
}

/** Instants in milliseconds of the service's clock. */
export function readSpan(
  hostname: string,
  from: number,
  to: number,
  signal: AbortSignal,
): Promise<HostsPage | null> {
  const [from_at, to_at] = [new Date(from).toISOString(), new Date(to).toISOString()]
  return asked(get('/api/v1/hosts', { query: { hostname, from_at, to_at, buckets: BUCKETS } }, signal))
}
