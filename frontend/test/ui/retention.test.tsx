// @vitest-environment happy-dom
import { cleanup, fireEvent, render, screen, waitFor } from '@testing-library/preact'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import type { ProjectRetention, ServiceInfo } from '../../src/api/schema'
import { service } from '../../src/store/connection'
import { RetentionDialog } from '../../src/ui/runs/RetentionDialog'

const DAY_US = 86_400e6
let kept: ProjectRetention = {
  project: 'a/b',
  retain_us: 7 * DAY_US,
  max_bytes: 0,
  precision_bits: null,
  default_retain_us: 30 * DAY_US,
  default_max_bytes: null,
  archive_after_us: null,
  delete_after_us: 365 * DAY_US,
  default_archive_after_us: null,
  default_delete_after_us: null,
  row_bytes: 2_500_000_000,
  ladder_bytes: 100_000_000,
  given_up_at: null,
}

const AGES = { archive_after_us: null, delete_after_us: 365 * DAY_US }
const DUE = {
  archive_after_us: 90 * DAY_US,
  delete_after_us: null,
  archived: 7,
  deleted: 0,
  runs: ['a', 'b', 'c', 'd', 'e', 'f', 'g'].map(name => ({
    run_id: name,
    name,
    fate: 'archived',
    unchanged_since: '2026-01-01T00:00:00Z',
  })),
}

let asked: [string, string, unknown][]
let refusal: string | null
let closed = vi.fn()

function answer(url: string, init: RequestInit): Response {
  if (url.includes('/preview')) {
    asked.push(['GET', url, null])
    return new Response(JSON.stringify(DUE))
  }
  if (!init.method) return new Response(JSON.stringify(kept))
  asked.push([init.method, url, JSON.parse(String(init.body))])
  const error = { code: 'forbidden', message: refusal }
  return refusal ? new Response(JSON.stringify({ error }), { status: 403 }) : new Response('{}')
}

beforeEach(() => {
  asked = []
  refusal = null
  closed = vi.fn()
  service.value = {
    scopes: ['view', 'admin'],
    scopes_in_all: ['view'],
    scopes_in: { 'a/b': ['admin'] },
  } as unknown as ServiceInfo
  vi.stubGlobal('fetch', (url: string, init: RequestInit = {}) => Promise.resolve(answer(url, init)))
})
afterEach(() => {
  cleanup()
  vi.unstubAllGlobals()
})

async function open(): Promise<void> {
  render(<RetentionDialog project="a/b" onClose={closed} />)
  await screen.findByText('Its runs use 2.5 GB for single steps and 100 MB for overviews.')
}

test('shows what applies: the project’s own, none, and what the service does for all', async () => {
  await open()
  expect((screen.getByLabelText('Keep single steps for: days') as HTMLInputElement).value).toBe('7')
  expect((screen.getByLabelText('Storage limit') as HTMLSelectElement).value).toBe('none')
  expect(screen.getByText('service default: 30 days')).toBeTruthy()
  expect(screen.getByText('service default: no limit')).toBeTruthy()
})

test('saves all of it, and closes', async () => {
  await open()
  const size = screen.getByLabelText('Storage limit')
  fireEvent.change(size, { target: { value: 'own' } })
  fireEvent.input(screen.getByLabelText('Storage limit: GB'), { target: { value: '1.5' } })
  fireEvent.change(screen.getByLabelText('Store durations'), { target: { value: '8' } })
  fireEvent.click(screen.getByText('Save'))
  await waitFor(() => expect(closed).toHaveBeenCalled())
  const body = { retain_us: 7 * DAY_US, max_bytes: 1_500_000_000, precision_bits: 8, ...AGES }
  expect(asked).toEqual([['PUT', '/api/v1/projects/a%2Fb/retention', body]])
})

test('says what would become of runs before it is saved', async () => {
  await open()
  fireEvent.change(screen.getByLabelText('Archive runs after'), { target: { value: 'own' } })
  fireEvent.change(screen.getByLabelText('Delete runs after', { selector: 'select' }), {
    target: { value: 'service' },
  })
  fireEvent.click(screen.getByText('What would that do now?'))
  await screen.findByText('It would archive 7 runs and delete 0: a, b, c, d, e, …')
  const query = `archive_after_us=${90 * DAY_US}&delete_after_us=0`
  expect(asked).toEqual([['GET', `/api/v1/projects/a%2Fb/retention/preview?${query}`, null]])
})

test('who administers other projects reads this, and cannot save it', async () => {
  service.value = {
    scopes: ['view', 'admin'],
    scopes_in_all: ['view'],
    scopes_in: { c: ['admin'] },
  } as unknown as ServiceInfo
  await open()
  expect((screen.getByText('Save') as HTMLButtonElement).disabled).toBe(true)
  screen.getByText('To change this takes the scope admin.')
})

test('says why it was not saved, and stays', async () => {
  refusal = 'the token has not got the scope admin'
  await open()
  fireEvent.click(screen.getByText('Save'))
  expect((await screen.findByRole('alert')).textContent).toContain('scope admin')
  expect(closed).not.toHaveBeenCalled()
})

test('a bound of rounding is never stated smaller than it is', async () => {
  await open()
  const said = ['exactly', ...['0.03', '0.4', '2'].map(percent => `rounded to within ${percent}%`)]
  const options = (screen.getByLabelText('Store durations') as HTMLSelectElement).options
  expect([...options].map(option => option.textContent)).toEqual(said)
})

test('what the service does for all is not taken for the project’s own', async () => {
  kept = { ...kept, retain_us: null }
  await open()
  expect((screen.getByLabelText('Keep single steps for') as HTMLSelectElement).value).toBe('service')
  fireEvent.click(screen.getByText('Save'))
  await waitFor(() => expect(asked).toMatchObject([['PUT', expect.anything(), { retain_us: null }]]))
})
