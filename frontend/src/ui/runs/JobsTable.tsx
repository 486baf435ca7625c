/** Runs grouped by job: a line for each, led by its newest run, which opens to the runs themselves. */
import { useSignal } from '@preact/signals'
import type { ComponentChildren } from 'preact'
import { useMemo } from 'preact/hooks'
import type { JobLine, RunSummary } from '../../api/schema'
import { formatDuration, formatHoursCell } from '../../format'
import { route, runHref, withQuery } from '../../router'
import { isFiltered, listFilter, type RunsFilter } from '../../store/filter'
import { MOST_OPENED, openJobs, readRunsOf } from '../../store/jobs'
import { keyOf } from '../../store/order'
import { choosing } from '../../store/terms'
import { jobs as say } from '../../text/lists'
import { TroubleBanner } from '../parts/Banner'
import { Button } from '../parts/Button'
import { VerdictWord } from '../parts/Glyph'
import { isMedium, isNarrow } from '../parts/media'
import { Skeleton } from '../parts/Skeleton'
import { useAnswer, useStore } from '../parts/stores'
import { Spark, Started, Wait } from './cells'
import { kindsAmong } from './columns'
import { NoMatch } from './Empty'
import { SortHead } from './SortHead'
import '../parts/DataTable.css'
import './JobsTable.css'

/** What each column is sorted by. */
const SORTS = {
  job: 'name',
  runs: 'runs',
  verdict: undefined,
  wait: 'data_stall_fraction',
  trend: undefined,
  lost: 'hours_lost',
  lostGpu: undefined,
  step: 'step_us',
  started: 'started_at',
} as const
type Column = keyof typeof SORTS
const COLUMNS = Object.keys(SORTS) as Column[]
const NARROW: readonly Column[] = ['job', 'wait', 'lost']
const MEDIUM: readonly Column[] = ['job', 'runs', 'verdict', 'wait', 'lost', 'started']
const FIGURES: readonly Column[] = ['runs', 'lost', 'lostGpu', 'step', 'started']

export function JobsTable() {
  const filter = listFilter.value
  // Runs may be sorted by what jobs are not, and jobs by what runs are not.
  const wanted = route.value.query.get('sort') ?? ''
  const sort = Object.values(SORTS).some(one => one === keyOf(wanted)) ? wanted : '-hours_lost'
  const asked = useMemo(() => ({ ...filter, sort: sort as RunsFilter['sort'] }), [filter, sort])
  const jobs = useStore(() => openJobs(asked), [asked])
  const lines = jobs.lines.value
  const { isGpu, isMixed } = kindsAmong((lines ?? []).map(line => line.gpu_hours_lost !== null))
  const fitting = isNarrow.value ? NARROW : isMedium.value ? MEDIUM : COLUMNS
  const columns = isMixed ? fitting : fitting.filter(column => column !== 'lostGpu')
  const trouble = jobs.trouble.value
  return (
    <>
      {trouble && trouble.field !== 'q' && <TroubleBanner what={say.what} error={trouble} />}
      {!lines && !trouble && <Skeleton />}
      {lines?.length === 0 && isFiltered(filter) && <NoMatch />}
      {lines && lines.length > 0 && (
        <table class="data jobs-table">
          <caption class="visually-hidden">{say.caption}</caption>
          <thead>
            <tr>
              {columns.map(column => (
                <SortHead
                  key={column}
                  label={say.columns[column === 'lost' && isGpu ? 'lostGpu' : column]}
                  class={classOf(column)}
                  by={SORTS[column]}
                  sort={sort}
                />
              ))}
            </tr>
          </thead>
          {lines.map(line => (
            <Job key={`${line.project} ${line.job || line.newest.run_id}`} line={line} columns={columns} />
          ))}
        </table>
      )}
      {jobs.isPartial.value && (
        <p>
          <Button onClick={() => void jobs.more()}>{say.more}</Button>
        </p>
      )}
    </>
  )
}

interface JobProps {
  line: JobLine
  columns: readonly Column[]
}

function Job({ line, columns }: JobProps) {
  const isOpen = useSignal(false)
  const { newest, runs } = line
  const cells: Cells = {
    ...cellsOf(newest),
    job: (
      <>
        {runs > 1 && (
          <button
            type="button"
            class="disclosure"
            aria-expanded={isOpen.value}
            aria-label={say.open(newest.name)}
            onClick={() => (isOpen.value = !isOpen.value)}
          >
            {isOpen.value ? '▾' : '▸'}
          </button>
        )}
        <a
          class={`row-name job-name ${runs > 1 ? '' : 'alone'}`}
          href={runHref(newest.run_id)}
          title={newest.name}
        >
          {newest.name}
        </a>{' '}
        {isNarrow.value ? <VerdictBelow run={newest} /> : <small class="faint">{line.project}</small>}
      </>
    ),
    runs: runs.toLocaleString('en'),
    trend: runs > 1 && <Spark values={line.trend} width={116} label={say.trendOf(line.trend.length)} />,
    lost: <span class="strong">{formatHoursCell(line.hours_lost)}</span>,
    lostGpu: formatHoursCell(line.gpu_hours_lost),
  }
  return (
    <tbody>
      <Row class="job" columns={columns} cells={cells} />
      {isOpen.value && <Opened line={line} columns={columns} />}
    </tbody>
  )
}

function Verdict({ run }: { run: RunSummary }) {
  return (
    <VerdictWord judged={run} class="verdict-word">
      {' '}
      {run.cause_label && <small>{run.cause_label}</small>}
    </VerdictWord>
  )
}

/** Where the verdict has no column of its own. */
function VerdictBelow({ run }: { run: RunSummary }) {
  return (
    <span class="job-verdict cut">
      <VerdictWord judged={run} class="verdict-word" word={run.cause_label} />
    </span>
  )
}

type Cells = Partial<Record<Column, ComponentChildren>>

/** Those that a run has as its job has them. */
function cellsOf(run: RunSummary): Cells {
  return {
    verdict: <Verdict run={run} />,
    wait: <Wait run={run} />,
    lost: formatHoursCell(run.hours_lost),
    lostGpu: formatHoursCell(run.gpu_hours_lost),
    step: formatDuration(run.step_us),
    started: <Started run={run} />,
  }
}

const classOf = (column: Column) => (FIGURES.includes(column) ? 'figure' : '')

function Row({ class: name, columns, cells }: { class: string; columns: readonly Column[]; cells: Cells }) {
  return (
    <tr class={name}>
      {columns.map(column => (
        <td key={column} class={classOf(column)}>
          {cells[column]}
        </td>
      ))}
    </tr>
  )
}

/** Its runs, the newest first. */
function Opened({ line, columns }: JobProps) {
  const filter = listFilter.value
  const read = useAnswer(stop => readRunsOf(filter, line, stop), [line, filter])
  const trouble = read.trouble.value
  const listed = withQuery({
    group: null,
    project: line.project,
    q: choosing(filter.q, 'job', line.job),
  })
  return (
    <>
      {trouble && (
        <tr>
          <td colSpan={columns.length}>{trouble.message}</td>
        </tr>
      )}
      {read.value?.runs.map(run => (
        <Row
          key={run.run_id}
          class="tries-of-job"
          columns={columns}
          cells={{ ...cellsOf(run), job: <Try run={run} /> }}
        />
      ))}
      {line.runs > MOST_OPENED && !line.job.includes('"') && (
        <tr class="tries-of-job">
          <td colSpan={columns.length}>
            <a href={`/${listed}`}>{say.all(line.runs)}</a>
          </td>
        </tr>
      )}
    </>
  )
}

function Try({ run }: { run: RunSummary }) {
  return (
    <>
      <a class="row-name job-name of-job" href={runHref(run.run_id)}>
        {run.name}
      </a>
      {isNarrow.value && <VerdictBelow run={run} />}
    </>
  )
}
