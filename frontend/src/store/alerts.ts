/** What a person does to alerts: adds, removes and tests. */
import { change, get, make } from '../api/client'
import type { Alert, ChannelMade, NewAlertRule, NewChannel } from '../api/schema'

const POLL_MS = 500
/** An attempt takes ten seconds at most, and another one may be on its way. */
const TEST_MS = 30_000

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
