// @vitest-environment happy-dom
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { get } from '../../src/api/client'
import { asked, isIntercepted, link, signInNeeded } from '../../src/store/connection'

let answers: Record<string, () => Response | Promise<Response>>

const json = (body: unknown, status = 200) => new Response(JSON.stringify(body), { status })
const html = () => new Response('<html>', { headers: { 'Content-Type': 'text/html' } })
const ask = () => asked(get('/api/v1/users', {}))

beforeEach(() => {
  vi.useFakeTimers()
  answers = {
    '/api/v1/users': () => json([]),
    '/api/v1/service': () => json({ token_required: true, signed_in: true }),
  }
  vi.stubGlobal('fetch', async (url: string) => (answers[url] as () => Response)())
})
afterEach(() => {
  vi.unstubAllGlobals()
  vi.useRealTimers()
})

test('a page without a stream is connected as soon as the service answers', async () => {
  expect(link.value).toBe('connecting')
  await ask()
  expect(link.value).toBe('idle')
})

test('a refusal asks for a sign-in, unless one has succeeded since the request left', async () => {
  answers['/api/v1/users'] = () => json({ error: { code: 'unauthorized', message: 'no token' } }, 401)
  await expect(ask()).rejects.toMatchObject({ status: 401 })
  expect(signInNeeded.value).toBe(false)
  answers['/api/v1/service'] = () => json({ token_required: true, signed_in: false })
  expect(await ask()).toBeNull()
  expect(signInNeeded.value).toBe(true)
})

test('a proxy that answers in place of the service is named, until the service answers again', async () => {
  answers['/api/v1/users'] = html
  answers['/api/v1/service'] = html
  expect(await ask()).toBeNull()
  await vi.advanceTimersByTimeAsync(400)
  expect([link.value, isIntercepted.value]).toEqual(['gone', true])
  answers['/api/v1/service'] = () => json({ token_required: false, signed_in: true })
  await vi.advanceTimersByTimeAsync(2_000)
  expect([link.value, isIntercepted.value]).toEqual(['idle', false])
})
