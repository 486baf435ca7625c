/** The table of runs: rows near the screen only, live cells in place, an order that holds under the pointer. */
import { useEffect, useMemo, useRef } from 'preact/hooks'
import { COLUMN_IDS, type ColumnId, chosen, configKey } from '../../store/chosen'
import { listFilter } from '../../store/filter'
import { keyOf, type SortKey } from '../../store/order'
import { runs as say, selecting } from '../../text/runs'
import { Button } from '../parts/Button'
import { isNarrow } from '../parts/media'
import { useRuns } from '../parts/stores'
import { COLUMNS, type Column, columnOf, fitting, headOf, kindsOf, NAME_PX, TICK_PX } from './columns'
import { RunRow } from './RunRow'
import { useRowKeys } from './rowKeys'
import { useRowWindow } from './rowWindow'
import { SortHead } from './SortHead'
import { room, useRoom } from './width'
import '../parts/DataTable.css'
import './RunsTable.css'

const ROW_PX = 39
/** On a phone a row has three lines. */
const NARROW_ROW_PX = 80
/** Of its one column, whose head is the longest of all. */
const NARROW_COLUMN_PX = 146
/** The next page is requested this many rows before the end of what is loaded. */
const ROWS_AHEAD = 20

export function RunsTable() {
  const { sort } = listFilter.value
  const runs = useRuns()
  const { hold, more, rows } = runs
  const ids = runs.order.value
  const whole = useRef<HTMLDivElement>(null)
  const body = useRef<HTMLTableSectionElement>(null)
  const narrow = isNarrow.value
  const { isGpu, isMixed } = kindsOf(runs)
  const columns = useColumns(isMixed, keyOf(sort))
  const isTooWide = !narrow && leastPx(columns) > room.value
  useRoom(whole)
  const height = narrow ? NARROW_ROW_PX : ROW_PX
  const { from, to } = useRowWindow(body, ids.length, height)
  useRowKeys(body, ids.length, height)
  useEffect(() => {
    if (to >= ids.length - ROWS_AHEAD) void more()
  }, [to, ids.length, more])

  return (
    <div class={`runs-table ${isTooWide ? 'too-wide' : ''}`} ref={whole}>
      <Pending />
      <table
        class="data"
        aria-rowcount={ids.length + 1}
        style={{ minWidth: narrow ? '0' : `${leastPx(columns)}px` }}
      >
        <caption class="visually-hidden">{say.caption}</caption>
        <colgroup>
          <col class="screen-only" style={{ width: `${TICK_PX}px` }} />
          <col />
          {columns.map(({ id, width }) => (
            <col key={id} style={{ width: `${narrow ? NARROW_COLUMN_PX : width}px` }} />
          ))}
        </colgroup>
        <thead>
          <tr aria-rowindex={1}>
            <TickAll ids={ids} />
            <SortHead label={say.columns.run} by="name" sort={sort} />
            {columns.map(({ id, sort: by, isFigure }) => (
              <SortHead
                key={id}
                label={headOf(id, isGpu)}
                class={isFigure ? 'figure' : ''}
                by={by}
                sort={sort}
              />
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
            return row && <RunRow key={id} row={row} columns={columns} index={from + index} />
          })}
          <Spacer height={(ids.length - to) * height} />
        </tbody>
      </table>
    </div>
  )
}

/** On a phone a run has two lines, and beside them what the table is sorted by: its wait where that is none of the columns. */
export function useColumns(isMixed = false, sort: SortKey = 'hours_lost'): readonly Column[] {
  const sorted = COLUMNS.find(column => column.sort === sort && column.id !== 'status')?.id ?? 'wait'
  const ids: readonly ColumnId[] = isNarrow.value ? [sorted] : (chosen.value ?? fitting(room.value, isMixed))
  const shown: readonly ColumnId[] = [...COLUMN_IDS.filter(id => ids.includes(id)), ...ids.filter(configKey)]
  // The same array while the columns are the same: rows that did not change are then not drawn again.
  return useMemo(() => shown.map(columnOf), [JSON.stringify(shown)])
}

function leastPx(columns: readonly Column[]): number {
  return columns.reduce((sum, { width }) => sum + width, TICK_PX + NAME_PX)
}

function TickAll({ ids }: { ids: readonly string[] }) {
  const { selection } = useRuns()
  return (
    <th scope="col" class="tick tick-all screen-only">
      <input
        type="checkbox"
        aria-label={selecting.selectAll}
        checked={selection.ids.value.length === ids.length}
        onChange={event => selection.set(ids, event.currentTarget.checked)}
      />
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

/** What sorting again would do, as a button: a row must not move away under the pointer. */
function Pending() {
  const { pending, resort } = useRuns()
  const { moves, fresh } = pending.value
  return (
    <p class="pending framed screen-only" hidden={moves === 0 && fresh === 0}>
      {say.moved(moves, fresh)}{' '}
      <Button kind="small" onClick={resort}>
        {say.resort}
      </Button>
    </p>
  )
}
