import { afterEach, expect, test, vi } from 'vitest'
import {
  address,
  change,
  get,
  Intercepted,
  NoAnswer,
  ServiceError,
  serviceNow,
  signIn,
} from '../../src/api/client'

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

test.each([
  [200, 'the sign-in page of a proxy'],
  [403, 'its refusal'],
])('a page with status %i in place of an answer is %s, for reading and for changing', async status => {
  const headers = { 'Content-Type': 'text/html; charset=utf-8' }
  vi.stubGlobal('fetch', async () => new Response('<html>', { status, headers }))
  await expect(get('/api/v1/service', {})).rejects.toBeInstanceOf(Intercepted)
  await expect(change('PATCH', '/api/v1/runs/a')).rejects.toBeInstanceOf(Intercepted)
})

test('nobody is followed to another site', async () => {
  const fetched = vi.fn(async () => ({ type: 'opaqueredirect', headers: new Headers() }))
  vi.stubGlobal('fetch', fetched)
  await expect(get('/api/v1/service', {})).rejects.toBeInstanceOf(Intercepted)
  expect(fetched).toHaveBeenCalledWith('/api/v1/service', expect.objectContaining({ redirect: 'manual' }))
})

test('an answer that is cut short is none', async () => {
  vi.stubGlobal(
    'fetch',
    async () => new Response('{"runs": [', { headers: { 'Content-Type': 'application/json' } }),
  )
  await expect(get('/api/v1/service', {})).rejects.toBeInstanceOf(NoAnswer)
})

test('an answer that never comes is given up', async () => {
  const patience = new AbortController()
  vi.spyOn(AbortSignal, 'timeout').mockReturnValue(patience.signal)
  vi.stubGlobal('fetch', (_: string, { signal }: { signal: AbortSignal }) => {
    return new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason)))
  })
  const asking = get('/api/v1/service', {}, new AbortController().signal)
  patience.abort(new DOMException('', 'TimeoutError'))
  await expect(asking).rejects.toBeInstanceOf(NoAnswer)
})
