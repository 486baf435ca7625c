/** The hosts, and one of them over time: read again while runs report, at most every few seconds. */
import { get, serviceNow } from '../api/client'
import type { HostsPage } from '../api/schema'
import { openResource, type Resource } from './resource'

const REST_MS = 4_000
/** One interval for about three pixels. */
const BUCKETS = 240

/** `hostname`: only this host, over its last known `spanS` seconds. */
export function openHosts(hostname: string | null, spanS: number): Resource<HostsPage> {
  return openResource<HostsPage>(
    (stop, before) =>
      hostname === null ? get('/api/v1/hosts', {}, stop) : readHost(hostname, spanS, before, stop),
    { restMs: REST_MS, topics: ['runs'] },
  )
}

/** Up to now where the host is live; else to when it was last seen, which the first answer has. */
async function readHost(
  hostname: string,
  spanS: number,
  before: HostsPage | null,
  stop: AbortSignal,
): Promise<HostsPage> {
  const known = before ?? (await get('/api/v1/hosts', { query: { hostname, buckets: 1 } }, stop))
  const [host] = known.hosts
  if (!host) return known
  const end = host.is_live ? serviceNow() : Date.parse(host.last_seen_at)
  return readSpan(hostname, end - spanS * 1_000, end, stop)
}

/** Instants in milliseconds of the service's clock. */
export function readSpan(hostname: string, from: number, to: number, stop: AbortSignal): Promise<HostsPage> {
  const [from_at, to_at] = [new Date(from).toISOString(), new Date(to).toISOString()]
  return get('/api/v1/hosts', { query: { hostname, from_at, to_at, buckets: BUCKETS } }, stop)
}
