/** The table of runs: rows near the screen only, live cells in place, an order that holds under the pointer. */
import { useSignal } from '@preact/signals'
import { useEffect, useRef } from 'preact/hooks'
import { navigate, withQuery } from '../router'
import { bind } from '../shortcuts'
import { keyOf, nextSort, type SortKey } from '../store/order'
import type { RunsQuery } from '../store/query'
import { hold, more, order, pending, resort, rows } from '../store/runs'
import { runs } from '../text'
import { RunRow } from './RunRow'
import { useRowWindow } from './rowWindow'

const ROW_PX = 39
/** On a phone a row has two lines. */
const NARROW_ROW_PX = 60
const narrow = matchMedia('(max-width: 640px)')

interface Column {
  label: string
  sort?: SortKey
  class?: string
}

function columns(isGpu: boolean): readonly Column[] {
  const say = runs.columns
  return [
    { label: say.run, sort: 'name' },
    { label: say.status, sort: 'status', class: 'not-narrow' },
    { label: say.verdict, class: 'not-narrow' },
    { label: say.wait, sort: 'data_stall_fraction' },
    { label: say.spark, class: 'roomy' },
    { label: isGpu ? say.lostGpu : say.lost, sort: 'hours_lost', class: 'figure not-narrow' },
    { label: say.gain, sort: 'predicted_speedup', class: 'figure roomy' },
    { label: say.step, sort: 'step_us', class: 'figure roomy' },
    { label: say.workers, class: 'figure widest' },
    { label: say.gpus, class: 'figure wide' },
    { label: say.host, class: 'wide apart' },
    { label: say.user, class: 'widest' },
    { label: say.started, sort: 'started_at', class: 'figure widest' },
  ]
}

export function RunsTable({ asking, query }: { asking: RunsQuery; query: URLSearchParams }) {
  const ids = order.value
  const body = useRef<HTMLTableSectionElement>(null)
  const isNarrow = useMatch(narrow)
  const height = isNarrow ? NARROW_ROW_PX : ROW_PX
  const { from, to } = useRowWindow(body, ids.length, height)
  useRowKeys(body, from, height)
  useEffect(() => {
    if (to >= ids.length - 20) void more()
  }, [to, ids.length])

  const isGpu = ids.length > 0 && ids.every(id => Boolean(rows.get(id)?.peek().gpus))
  const heads = columns(isGpu)
  if (ids.length === 0) return <NoMatch asking={asking} />
  return (
    <div
      class="runs-table"
      onPointerEnter={() => hold(true)}
      onPointerLeave={() => hold(false)}
      onFocusIn={() => hold(true)}
      onFocusOut={event => hold(event.currentTarget.matches(':hover'))}
    >
      <Pending />
      <table aria-rowcount={ids.length + 1}>
        <caption class="visually-hidden">{runs.caption}</caption>
        <thead>
          <tr aria-rowindex={1}>
            {heads.map(column => (
              <Head key={column.label} column={column} asking={asking} query={query} />
            ))}
          </tr>
        </thead>
        <tbody ref={body}>
          <Spacer height={from * height} />
          {ids.slice(from, to).map((id, index) => {
            const row = rows.get(id)
            return row && <RunRow key={id} row={row} query={query} index={from + index} />
          })}
          <Spacer height={(ids.length - to) * height} />
        </tbody>
      </table>
    </div>
  )
}

function Head({ column, asking, query }: { column: Column; asking: RunsQuery; query: URLSearchParams }) {
  const { sort: key, label } = column
  if (!key) {
    return (
      <th scope="col" class={column.class}>
        {label}
      </th>
    )
  }
  const isSorted = keyOf(asking.sort) === key
  const direction = asking.sort.startsWith('-') ? 'descending' : 'ascending'
  return (
    <th scope="col" class={column.class} {...(isSorted ? { 'aria-sort': direction as 'ascending' } : {})}>
      <button
        type="button"
        onClick={() => navigate(`/${withQuery(query, { sort: nextSort(asking.sort, key) })}`, 'replace')}
      >
        {label}
        {isSorted && <span aria-hidden="true">{direction === 'descending' ? ' ↓' : ' ↑'}</span>}
      </button>
    </th>
  )
}

function Spacer({ height }: { height: number }) {
  if (height === 0) return null
  return (
    // biome-ignore lint/a11y/noAriaHiddenOnFocusable: nothing in it takes the focus; it only holds the room
    <tr class="spacer" aria-hidden="true">
      <td style={{ height: `${height}px` }} />
    </tr>
  )
}

/** What sorting again would do, offered and not done: a row must not leave from under the pointer. */
function Pending() {
  const { moves, fresh } = pending.value
  const isWorth = moves > 0 || fresh > 0
  return (
    <p class="pending" hidden={!isWorth}>
      {runs.moved(moves, fresh)}{' '}
      <button type="button" class="button small" onClick={resort}>
        {runs.resort}
      </button>
    </p>
  )
}

function NoMatch({ asking }: { asking: RunsQuery }) {
  const words = [asking.q, asking.status, asking.bound, asking.project, asking.tag].filter(Boolean)
  return (
    <p class="no-match">
      {runs.noMatch} <b>{words.join(' · ')}</b>. <a href="/">{runs.clear}</a>
    </p>
  )
}

/** `j` and `k` move the real focus from row to row, so Enter opens without a handler of its own. */
function useRowKeys(body: { current: HTMLElement | null }, from: number, height: number): void {
  const wanted = useRef<number | null>(null)
  useEffect(() => {
    function move(by: number): void {
      const focused = document.activeElement?.closest('tr')?.getAttribute('aria-rowindex')
      const index =
        focused && body.current?.contains(document.activeElement) ? Number(focused) - 2 + by : from
      wanted.current = Math.max(0, Math.min(order.value.length - 1, index))
      const top = (body.current?.getBoundingClientRect().top ?? 0) + wanted.current * height
      if (top < height * 3 || top > innerHeight - height * 2) scrollBy(0, top - innerHeight / 2)
      requestAnimationFrame(focusWanted)
    }
    function focusWanted(): void {
      const row = body.current?.querySelector(`tr[aria-rowindex="${(wanted.current ?? 0) + 2}"]`)
      row?.querySelector('a')?.focus({ preventScroll: true })
    }
    return bind({ j: () => move(1), k: () => move(-1) })
  }, [body, from, height])
}

function useMatch(query: MediaQueryList): boolean {
  const matches = useSignal(query.matches)
  useEffect(() => {
    const changed = () => {
      matches.value = query.matches
    }
    query.addEventListener('change', changed)
    return () => query.removeEventListener('change', changed)
  }, [query, matches])
  return matches.value
}
