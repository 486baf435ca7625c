/** Requests to the service: typed by its OpenAPI description, every failure is one of two errors. */
import type { ErrorBody, paths } from './schema'

/** The service answered, and the answer is a failure. */
export class ServiceError extends Error {
  constructor(
    readonly status: number,
    readonly code: string,
    message: string,
    readonly requestId: string | null,
    /** The parameter or field that the failure is about, where it is one. */
    readonly field: string | null = null,
  ) {
    super(message)
  }
}

/** Nothing answered: the service is down, restarting, or out of reach. It may answer later. */
export class NoAnswer extends Error {}

/** Something answers in the service's place: a proxy that wants its own sign-in, which only the whole page can be led to. */
export class Intercepted extends NoAnswer {}

/** `never`: nothing can be read there. */
type Answer<P extends keyof paths> = paths[P] extends {
  get: { responses: { 200: { content: { 'application/json': infer Body } } } }
}
  ? Body
  : never
type Readable = { [P in keyof paths]: [Answer<P>] extends [never] ? never : P }[keyof paths]
type Asked<P extends Readable> = paths[P] extends { get: { parameters: infer Parameters } }
  ? Pick<Parameters, Extract<keyof Parameters, 'path' | 'query'>>
  : never

const SESSION = '/api/v1/session'
/** An answer that takes longer will not come: a page that waits for it would show old figures for good. */
const PATIENCE_MS = 60_000
let clockOffsetMs = 0

/** The service's wall clock in Unix milliseconds, to about a second: ages of its instants must not use the browser's clock. */
export function serviceNow(ourNow = Date.now()): number {
  return ourNow + clockOffsetMs
}

/** Raises: ServiceError, NoAnswer; an AbortError when `signal` fires. */
export async function get<P extends Readable>(
  path: P,
  asked: Asked<P>,
  signal?: AbortSignal,
): Promise<Answer<P>> {
  const response = await answered(address(path, asked), signal ? { signal } : {})
  try {
    return (await response.json()) as Answer<P>
  } catch (error) {
    throw withoutAnswer(error)
  }
}

/** Changes something, and reads nothing. Raises: ServiceError, NoAnswer. */
export async function change(
  method: 'POST' | 'PUT' | 'PATCH' | 'DELETE',
  path: string,
  body: object = {},
): Promise<void> {
  await sent(method, path, body)
}

function sent(method: string, path: string, body: object): Promise<Response> {
  return answered(path, {
    method,
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify(body),
  })
}

/** Creates something, and reads what it is. Raises: ServiceError, NoAnswer. */
export async function make<Made>(path: string, body: object = {}): Promise<Made> {
  return (await sent('POST', path, body)).json() as Promise<Made>
}

/** Raises: ServiceError with status 401 for a token that is not known; NoAnswer. */
export const signIn = (token: string) => change('POST', SESSION, { token })

/** End this browser's session. Raises: NoAnswer, ServiceError. */
export const signOut = () => change('DELETE', SESSION)

/** Fills `{names}` and repeats a query key for each value of a list; `null` is left out. */
export function address(path: string, asked: { path?: unknown; query?: unknown }): string {
  const names = (asked.path ?? {}) as Record<string, string>
  const filled = path.replace(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(names[name] ?? ''))
  const query = new URLSearchParams()
  for (const [key, value] of Object.entries(asked.query ?? {})) {
    for (const one of Array.isArray(value) ? value : [value]) {
      if (one !== null && one !== undefined) query.append(key, String(one))
    }
  }
  return query.size > 0 ? `${filled}?${query}` : filled
}

async function answered(url: string, init: RequestInit): Promise<Response> {
  let response: Response
  const patience = AbortSignal.timeout(PATIENCE_MS)
  const signal = init.signal ? AbortSignal.any([init.signal, patience]) : patience
  try {
    // The service redirects nothing: who does leads to a sign-in of another site, which no request may follow.
    response = await fetch(url, { ...init, signal, redirect: 'manual' })
  } catch (error) {
    throw withoutAnswer(error)
  }
  if (isForeign(response)) throw new Intercepted('Something else answered in place of the service.')
  const date = Date.parse(response.headers.get('Date') ?? '')
  if (!Number.isNaN(date)) clockOffsetMs = date - Date.now()
  if (!response.ok) throw await failure(response)
  return response
}

/** What a request or its body ended with: given up by the page itself, or not answered. */
function withoutAnswer(error: unknown): unknown {
  if (error instanceof DOMException && error.name === 'AbortError') return error
  return new NoAnswer('The service does not answer.', { cause: error })
}

/** A redirect, or a page instead of figures; the error page of a proxy before a service that is down is none of a sign-in. */
function isForeign({ type, status, headers }: Response): boolean {
  if (type === 'opaqueredirect') return true
  return status < 500 && (headers.get('Content-Type') ?? '').startsWith('text/html')
}

/** A proxy in between answers without our error shape: then only its status line is known. */
async function failure(response: Response): Promise<ServiceError> {
  const said = ((await response.json().catch(() => null)) as ErrorBody | null)?.error
  const fallback = `The answer was ${response.status} ${response.statusText}`.trim()
  return new ServiceError(
    response.status,
    said?.code ?? `http_${response.status}`,
    said?.message ?? fallback,
    said?.request_id ?? null,
    said?.field ?? null,
  )
}
