/** Who is told of what, and what was sent. */
import { change, get, make } from '../api/client'
import type { Alert, Alerts, AlertsPage, ChannelMade, NewAlertRule, NewChannel } from '../api/schema'
import { openResource, type Resource, type Store } from './resource'

const LOG_REST_MS = 3_000
const POLL_MS = 500
/** An attempt takes ten seconds at most, and another one may be on its way. */
const TEST_MS = 30_000

export interface AlertsStore extends Store {
  readonly alerts: Resource<Alerts>
  readonly log: Resource<AlertsPage>
  /** Reads both again: something was changed. */
  readAgain(): void
  /** More of the log. */
  more(count: number): void
}

export function openAlerts(): AlertsStore {
  let most = 20
  const alerts = openResource<Alerts>(stop => get('/api/v1/alerts', {}, stop))
  const log = openResource<AlertsPage>(stop => get('/api/v1/alerts/log', { query: { limit: most } }, stop), {
    restMs: LOG_REST_MS,
    topics: ['runs'],
  })
  void alerts.read()
  return {
    alerts,
    log,
    readAgain() {
      void alerts.read()
      void log.read()
    },
    more(count) {
      most = count
      void log.read()
    },
    close() {
      alerts.close()
      log.close()
    },
  }
}

/** These raise: ServiceError, NoAnswer. */
export const addChannel = (asked: NewChannel) => make<ChannelMade>('/api/v1/alerts/channels', asked)
export const addRule = (asked: NewAlertRule) => change('POST', '/api/v1/alerts/rules', asked)
export const removeChannel = (id: string) =>
  change('DELETE', `/api/v1/alerts/channels/${encodeURIComponent(id)}`)
export const removeRule = (id: string) => change('DELETE', `/api/v1/alerts/rules/${encodeURIComponent(id)}`)

/** Sends a test, and waits until it arrived, failed, or takes too long: then it still waits. */
export async function testChannel(channelId: string): Promise<Alert> {
  let alert = await make<Alert>(`/api/v1/alerts/channels/${encodeURIComponent(channelId)}/test`)
  for (let waited = 0; alert.state === 'waiting' && waited < TEST_MS; waited += POLL_MS) {
    await new Promise(resolve => setTimeout(resolve, POLL_MS))
    alert = await get('/api/v1/alerts/log/{alert_id}', { path: { alert_id: alert.alert_id } })
  }
  return alert
}
