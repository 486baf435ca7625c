/** Which page the address names. Six pages, so no library; the query holds what is chosen on a page. */
import { signal } from '@preact/signals'

const NAMED = ['compare', 'hosts', 'team', 'alerts'] as const
type Named = (typeof NAMED)[number]

export type Route =
  | { page: 'runs' | Named; query: URLSearchParams }
  | { page: 'run'; runId: string; query: URLSearchParams }
  | { page: 'unknown'; query: URLSearchParams }

export function parse(pathname: string, search: string): Route {
  const query = new URLSearchParams(search)
  if (pathname === '/' || pathname === '/runs') return { page: 'runs', query }
  const named = NAMED.find(page => pathname === `/${page}`)
  if (named) return { page: named, query }
  const runId = pathname.match(/^\/runs\/([A-Za-z0-9_-]{1,64})\/?$/)?.[1]
  return runId ? { page: 'run', runId, query } : { page: 'unknown', query }
}

export const route = signal<Route>(parse(location.pathname, location.search))

let lastRunsQuery = ''

/** The table of runs as it was last seen, filters and all. */
export function runsHref(): string {
  return `/${lastRunsQuery}`
}

/** The list of deleted runs. */
export const DELETED_HREF = '/?deleted=true'

export function runHref(runId: string): string {
  return `/runs/${encodeURIComponent(runId)}`
}

/** `replace`: for what is typed letter by letter, so that "back" leaves the page and not a single letter. */
export function navigate(href: string, how: 'push' | 'replace' = 'push'): void {
  if (how === 'push') history.pushState(null, '', href)
  else history.replaceState(null, '', href)
  const before = route.value
  readAddress()
  if (how === 'push' && before.page !== route.value.page) scrollTo(0, 0)
}

function readAddress(): void {
  route.value = parse(location.pathname, location.search)
  if (route.value.page === 'runs') lastRunsQuery = location.search
}

/** The query of the address with some keys set; `null` and the empty string remove one. */
export function withQuery(changes: Record<string, string | null>, query = route.value.query): string {
  const next = new URLSearchParams(query)
  for (const [key, value] of Object.entries(changes)) {
    if (value) next.set(key, value)
    else next.delete(key)
  }
  return next.size > 0 ? `?${next}` : ''
}

export function followAddress(): void {
  readAddress()
  addEventListener('popstate', readAddress)
  document.addEventListener('click', event => {
    const anchor = (event.target as Element).closest?.('a')
    if (anchor && isOurs(event, anchor)) {
      event.preventDefault()
      navigate(anchor.pathname + anchor.search)
    }
  })
}

/** New tabs, downloads, other origins, in-page anchors and the API's own pages are left to the browser. */
function isOurs(event: MouseEvent, anchor: HTMLAnchorElement): boolean {
  const plain = event.button === 0 && !event.metaKey && !event.ctrlKey && !event.shiftKey && !event.altKey
  const inside = anchor.origin === location.origin && !anchor.target && !anchor.hash
  return plain && inside && !event.defaultPrevented && parse(anchor.pathname, '').page !== 'unknown'
}
