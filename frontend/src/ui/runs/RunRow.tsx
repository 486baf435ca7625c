/** One run in the table. It reads its own signal: a live run redraws its own row and no other. */
import type { Signal } from '@preact/signals'
import { serviceNow } from '../../api/client'
import type { RunSummary } from '../../api/schema'
import { formatAgeCell, formatDay, formatTags, inZone } from '../../format'
import { runHref, withQuery } from '../../router'
import { keepDeletedUs } from '../../store/actions'
import { runs, selecting } from '../../text/runs'
import { deleting } from '../../text/shared'
import { StatusGlyph, VerdictWord } from '../parts/Glyph'
import { isNarrow } from '../parts/media'
import { useRuns } from '../parts/stores'
import { ageS } from '../parts/When'
import { type Column, statusOf } from './columns'
import './RunRow.css'

interface RunRowProps {
  row: Signal<RunSummary>
  columns: readonly Column[]
  index: number
}

export function RunRow({ row, columns, index }: RunRowProps) {
  const run = row.value
  const { selection } = useRuns()
  return (
    <tr aria-rowindex={index + 2} class={`run-row ${selection.has(run.run_id) ? 'ticked' : ''}`}>
      <Tick run={run} />
      <td>
        {run.deleted_at ? (
          <span class="row-name">{run.name}</span>
        ) : (
          <a class="row-name run-name" href={runHref(run.run_id)} title={run.name}>
            {run.name}
          </a>
        )}
        {!isNarrow.value && !run.deleted_at && <Tags run={run} />}
        {run.archived_at !== null && <small> {runs.isArchived}</small>}
        {run.deleted_at && <span class="deletion faint">{deletion(run.deleted_at)}</span>}
        {isNarrow.value && !run.deleted_at && (
          <>
            <span class="further-line cut">
              <VerdictWord judged={run} class="verdict-word" word={run.cause_label} />
            </span>
            <span class="further-line cut faint">
              <span class="with-glyph">
                <StatusGlyph status={run.status} />
                {statusOf(run)} {formatAgeCell(ageS(run))}
              </span>
            </span>
          </>
        )}
      </td>
      {columns.map(({ id, isFigure, cell }) => (
        <td key={id} class={isFigure ? 'figure' : ''}>
          {cell(run)}
        </td>
      ))}
    </tr>
  )
}

function deletion(at: string): string {
  const [deleted, keptUs, now] = [new Date(at), keepDeletedUs(), new Date(serviceNow())]
  const until = keptUs === null ? null : formatDay(new Date(deleted.getTime() + keptUs / 1_000), now)
  return deleting.at(inZone(formatDay(deleted, now)), until)
}

function Tick({ run }: { run: RunSummary }) {
  const { selection } = useRuns()
  return (
    <td class="tick screen-only">
      <input
        type="checkbox"
        aria-label={selecting.select(run.name)}
        checked={selection.has(run.run_id)}
        onClick={event => selection.tick(run.run_id, event.currentTarget.checked, event.shiftKey)}
      />
    </td>
  )
}

function Tags({ run }: { run: RunSummary }) {
  return (
    <span class="tags">
      {formatTags(run.tags).map(tag => (
        <a key={tag} class="tag" title={tag} href={`/${withQuery({ tag })}`} aria-label={runs.filterTag(tag)}>
          {tag}
        </a>
      ))}
    </span>
  )
}
