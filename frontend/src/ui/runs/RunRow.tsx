/** One run in the table. It reads its own signal: a live run redraws its own row and no other. */
import type { Signal } from '@preact/signals'
import type { RunSummary } from '../../api/schema'
import { formatAgeCell, formatTags } from '../../format'
import { runHref, withQuery } from '../../router'
import { runs, selecting } from '../../text/runs'
import { ageS } from '../parts/age'
import { isNarrow } from '../parts/media'
import { useRuns } from '../parts/stores'
import { VerdictWord } from '../parts/VerdictWord'
import { type Column, statusOf } from './columns'
import './RunRow.css'

interface RunRowProps {
  row: Signal<RunSummary>
  columns: readonly Column[]
  query: URLSearchParams
  index: number
}

export function RunRow({ row, columns, query, index }: RunRowProps) {
  const run = row.value
  const { selection } = useRuns()
  return (
    <tr aria-rowindex={index + 2} class={`run-row ${selection.has(run.run_id) ? 'ticked' : ''}`}>
      <Tick run={run} />
      <td>
        <a class="run-name" href={runHref(run.run_id)} title={run.name}>
          {run.name}
        </a>
        {isNarrow.value || <Tags run={run} query={query} />}
        {run.archived_at !== null && <small> {runs.isArchived}</small>}
        {isNarrow.value && (
          <span class="second-line cut faint">
            <VerdictWord judged={run} class="verdict-word" word={run.cause_label} /> · {statusOf(run)}{' '}
            {formatAgeCell(ageS(run))}
          </span>
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

function Tags({ run, query }: { run: RunSummary; query: URLSearchParams }) {
  return (
    <span class="tags">
      {formatTags(run.tags).map(tag => (
        <a
          key={tag}
          class="tag"
          title={tag}
          href={`/${withQuery(query, { tag })}`}
          aria-label={runs.filterTag(tag)}
        >
          {tag}
        </a>
      ))}
    </span>
  )
}
