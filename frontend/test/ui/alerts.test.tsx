// @vitest-environment happy-dom
import { cleanup, fireEvent, render, screen, waitFor, within } from '@testing-library/preact'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import type { Alert, AlertRule, Alerts, ServiceInfo } from '../../src/api/schema'
import { AlertsPage } from '../../src/pages/AlertsPage'
import { service } from '../../src/store/connection'
import { notice } from '../../src/store/notice'

const CHANNEL = {
  channel_id: 'c1',
  project: null,
  name: 'ops',
  kind: 'webhook',
  target: 'https://hooks.example.org:443',
  made_by: 'ada',
  made_at: '2026-11-20T10:00:00Z',
} as const
const RULE: AlertRule = {
  rule_id: 'r1',
  project: 'vision',
  user: null,
  condition: 'data_bound',
  condition_label: 'waits for data',
  threshold: 0.2,
  for_us: 600e6,
  cool_down_us: 4 * 3_600e6,
  tells_recovery: true,
  channel_id: 'c1',
  made_by: 'ada',
  made_at: '2026-11-20T10:00:00Z',
}
const ALERT = {
  alert_id: 'a1',
  made_at: '2026-11-20T10:00:00Z',
  channel_id: 'c1',
  channel: 'ops',
  rule_id: 'r1',
  run_id: 'run-1',
  message: { title: 'resnet waits for data 40% of its step time' },
  state: 'waiting',
  attempts: 2,
  due_at: null,
  sent_at: null,
  error: 'it answered with 500',
} as unknown as Alert

let known: Alerts
let asked: [string, string, unknown][]
let answers: Record<string, unknown>

function answer(url: string, init: RequestInit): Response {
  const path = url.split('?')[0] ?? ''
  if (init.method) asked.push([init.method, path, JSON.parse(String(init.body))])
  const found = answers[`${init.method ?? 'GET'} ${path}`]
  return found === undefined ? new Response(null, { status: 204 }) : new Response(JSON.stringify(found))
}

beforeEach(() => {
  known = { channels: [CHANNEL], rules: [RULE], sends_email: false }
  asked = []
  answers = {
    'GET /api/v1/alerts': known,
    'GET /api/v1/alerts/log': { alerts: [ALERT], next_cursor: null },
    'GET /api/v1/projects': [{ project: 'vision' }],
  }
  service.value = {
    scopes: ['admin'],
    scopes_in_all: ['admin'],
    scopes_in: {},
    project: null,
    labels: {
      condition: { data_bound: 'waits for data', memory: 'memory runs out', straggler: 'straggles' },
    },
  } as unknown as ServiceInfo
  vi.stubGlobal('fetch', (url: string, init: RequestInit = {}) => Promise.resolve(answer(url, init)))
  vi.stubGlobal(
    'EventSource',
    class extends EventTarget {
      close = vi.fn()
    },
  )
})
afterEach(() => {
  cleanup()
  service.value = null
  notice.value = null
  vi.unstubAllGlobals()
})

test('says who gets messages about what, and what became of each message', async () => {
  render(<AlertsPage />)
  await screen.findByText('1 rule tells 1 channel.')
  screen.getByText('waits for data, from 20%, for 10 min')
  screen.getByText('everybody’s runs in vision; tells ops')
  await screen.findByText('ops: waiting after 2 attempts: it answered with 500')
})

test('who may only read is offered nothing to change', async () => {
  service.value = {
    ...(service.value as ServiceInfo),
    scopes: ['view'],
    scopes_in_all: ['view'],
    scopes_in: {},
  }
  render(<AlertsPage />)
  await screen.findByText('Who administers the service may add channels and rules.')
  for (const name of [/Add/, /Test/, /Remove/]) expect(screen.queryByRole('button', { name })).toBeNull()
})

test('a webhook that is added shows its secret once', async () => {
  answers['POST /api/v1/alerts/channels'] = { ...CHANNEL, secret: 'whsec_x' }
  render(<AlertsPage />)
  fireEvent.click(await screen.findByText('Add a channel'))
  fireEvent.change(screen.getByLabelText('Kind'), { target: { value: 'webhook' } })
  fireEvent.input(screen.getByLabelText('Name'), { target: { value: ' ops ' } })
  fireEvent.input(screen.getByLabelText(/^Address/), { target: { value: 'https://hooks.example.org/x' } })
  fireEvent.submit(screen.getByText('Add').closest('form') as HTMLFormElement)
  await waitFor(() => expect(asked).toHaveLength(1))
  expect(asked[0]?.[2]).toEqual({
    name: 'ops',
    kind: 'webhook',
    project: null,
    to: [],
    url: 'https://hooks.example.org/x',
  })
})

test('without a mail server there is no channel by mail', async () => {
  render(<AlertsPage />)
  fireEvent.click(await screen.findByText('Add a channel'))
  fireEvent.change(screen.getByLabelText('Kind'), { target: { value: 'email' } })
  screen.getByText(/no mail server/)
  expect((screen.getByText('Add') as HTMLButtonElement).disabled).toBe(true)
})

test('a rule is asked for in the units of the service', async () => {
  render(<AlertsPage />)
  fireEvent.click(await screen.findByText('Add a rule'))
  const dialog = within(screen.getByText('Add').closest('dialog') as HTMLElement)
  fireEvent.input(dialog.getByLabelText('From this percentage of step time on'), { target: { value: '35' } })
  fireEvent.input(dialog.getByLabelText('For at least this many minutes'), { target: { value: '2.5' } })
  fireEvent.submit(screen.getByText('Add').closest('form') as HTMLFormElement)
  await waitFor(() => expect(asked).toHaveLength(1))
  expect(asked[0]?.[2]).toEqual({
    condition: 'data_bound',
    threshold: 0.35,
    for_us: 150e6,
    cool_down_us: 4 * 3_600e6,
    tells_recovery: true,
    channel_id: 'c1',
    project: null,
    user: null,
  })
})

test('the fields follow the condition', async () => {
  render(<AlertsPage />)
  fireEvent.click(await screen.findByText('Add a rule'))
  fireEvent.change(screen.getByLabelText('When'), { target: { value: 'memory' } })
  expect((screen.getByLabelText('Within this many hours') as HTMLInputElement).value).toBe('24')
  fireEvent.change(screen.getByLabelText('When'), { target: { value: 'straggler' } })
  expect(screen.queryByLabelText('Within this many hours')).toBeNull()
})

test('a test says whether it arrived, and why not', async () => {
  answers['POST /api/v1/alerts/channels/c1/test'] = {
    ...ALERT,
    state: 'failed',
    error: 'it answered with 404',
  }
  render(<AlertsPage />)
  fireEvent.click(await screen.findByText('Test'))
  await waitFor(() =>
    expect(notice.value?.text).toBe('The test message did not reach ops: it answered with 404.'),
  )
})

test('a channel is removed with its rules, which is said before', async () => {
  render(<AlertsPage />)
  fireEvent.click(await screen.findByLabelText('Remove: ops'))
  screen.getByText('1 rule that tells it will be removed, too.')
  fireEvent.submit(screen.getByText('Remove the channel ops?').nextElementSibling as HTMLFormElement)
  await waitFor(() => expect(asked[0]?.slice(0, 2)).toEqual(['DELETE', '/api/v1/alerts/channels/c1']))
})
