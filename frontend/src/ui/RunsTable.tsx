/** The table of runs: rows near the screen only, live cells in place, an order that holds under the pointer. */
import { useEffect, useRef } from 'preact/hooks'
import { navigate, withQuery } from '../router'
import { mayChange } from '../store/actions'
import { keyOf, nextSort, type SortKey } from '../store/order'
import type { RunsQuery } from '../store/query'
import { hold, more, order, pending, resort, rows } from '../store/runs'
import { select, selected } from '../store/selection'
import { actions, runs } from '../text'
import { useMatch } from './media'
import { RunRow } from './RunRow'
import { useRowKeys } from './rowKeys'
import { useRowWindow } from './rowWindow'

const ROW_PX = 39
/** On a phone a row has two lines. */
const NARROW_ROW_PX = 60
/** So many rows before the end of what is loaded, the next page is asked for. */
const ROWS_AHEAD = 20
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
  useRowKeys(body, height)
  useEffect(() => {
    if (to >= ids.length - ROWS_AHEAD) void more()
  }, [to, ids.length])

  const isGpu = ids.length > 0 && ids.every(id => Boolean(rows.get(id)?.peek().gpus))
  const heads = columns(isGpu)
  if (ids.length === 0) return <NoMatch asking={asking} />
  return (
    <div class="runs-table">
      <Pending />
      <table aria-rowcount={ids.length + 1}>
        <caption class="visually-hidden">{runs.caption}</caption>
        <thead>
          <tr aria-rowindex={1}>
            <TickAll ids={ids} />
            {heads.map(column => (
              <Head key={column.label} column={column} asking={asking} query={query} />
            ))}
          </tr>
        </thead>
        <tbody
          ref={body}
          onPointerEnter={() => hold(true)}
          onPointerLeave={event => hold(event.currentTarget.matches(':focus-within'))}
          onFocusIn={() => hold(true)}
          onFocusOut={event => hold(event.currentTarget.matches(':hover'))}
        >
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

function TickAll({ ids }: { ids: readonly string[] }) {
  if (!mayChange.value) return <td class="tick not-narrow" />
  return (
    <th scope="col" class="tick not-narrow">
      <input
        type="checkbox"
        aria-label={actions.selectAll}
        checked={selected.value.length === ids.length}
        onChange={event => select(ids, event.currentTarget.checked)}
      />
    </th>
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
  return (
    <p class="pending" hidden={moves === 0 && fresh === 0}>
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
      {runs.noMatch} <b>{words.join(' · ') || runs.notArchived.toLowerCase()}</b>.{' '}
      <a href="/">{runs.clear}</a>
    </p>
  )
}
