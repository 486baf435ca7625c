import { afterEach, expect, test, vi } from 'vitest'
import { address, get, NoAnswer, ServiceError, serviceNow, signIn } from '../../src/api/client'

afterEach(() => vi.unstubAllGlobals())

function answer(body: unknown, init: ResponseInit = {}): void {
  vi.stubGlobal('fetch', () => Promise.resolve(new Response(JSON.stringify(body), init)))
}

test('an address fills names, repeats lists, leaves out null', () => {
  const asked = { path: { run_id: 'a b' }, query: { metric: ['x', 'y'], rank: 0, loader: null } }
  expect(address('/api/v1/runs/{run_id}/series', asked)).toBe(
    '/api/v1/runs/a%20b/series?metric=x&metric=y&rank=0',
  )
})

test('a failure carries its code, message and request', async () => {
  answer({ error: { code: 'internal', message: 'It broke.', request_id: 'req-7' } }, { status: 500 })
  const failure = await get('/api/v1/service', {}).catch((error: unknown) => error)
  expect(failure).toBeInstanceOf(ServiceError)
  expect(failure).toMatchObject({ status: 500, code: 'internal', message: 'It broke.', requestId: 'req-7' })
})

test('a proxy’s failure has no shape of ours', async () => {
  vi.stubGlobal('fetch', () =>
    Promise.resolve(new Response('<html>', { status: 502, statusText: 'Bad Gateway' })),
  )
  const failure = await get('/api/v1/service', {}).catch((error: unknown) => error)
  expect(failure).toMatchObject({ code: 'http_502', message: 'The answer was 502 Bad Gateway' })
})

test('no answer is not a failure of the service', async () => {
  vi.stubGlobal('fetch', () => Promise.reject(new TypeError('Failed to fetch')))
  await expect(signIn('secret')).rejects.toBeInstanceOf(NoAnswer)
})

test('ages are measured by the clock of the service', async () => {
  const ahead = new Date(Date.now() + 3_600_000).toUTCString()
  answer({}, { headers: { Date: ahead } })
  await get('/api/v1/service', {})
  expect(serviceNow() - Date.now()).toBeGreaterThan(3_590_000)
})
