/** Runs grouped by job: a line for each, led by its newest run, which opens to the runs themselves. */
import { useSignal } from '@preact/signals'
import { useEffect, useMemo } from 'preact/hooks'
import { serviceNow } from '../../api/client'
import type { JobLine, RunSummary, RunsPage } from '../../api/schema'
import { sparkPath } from '../../charts/spark'
import { formatDay, formatDuration, formatHoursCell } from '../../format'
import { navigate, runHref, withQuery } from '../../router'
import { isFiltered, type RunsFilter } from '../../store/filter'
import { MOST_OPENED, openJobs, readRunsOf } from '../../store/jobs'
import { openResource } from '../../store/resource'
import { choosing } from '../../store/terms'
import { jobs as say } from '../../text/lists'
import { TroubleBanner } from '../parts/Banner'
import { Button } from '../parts/Button'
import { isMedium, isNarrow } from '../parts/media'
import { Skeleton } from '../parts/Skeleton'
import { useStore } from '../parts/stores'
import { VerdictWord } from '../parts/VerdictWord'
import { Wait } from './cells'
import { NoMatch } from './NoMatch'
import '../parts/DataTable.css'
import './JobsTable.css'

const SPARK = { width: 116, height: 20 }
/** Largest first; names are sorted the other way round. */
const SORTS = {
  job: 'name',
  runs: '-runs',
  verdict: null,
  wait: '-data_stall_fraction',
  trend: null,
  lost: '-hours_lost',
  lostGpu: null,
  step: '-step_us',
  started: '-started_at',
} as const
type Column = keyof typeof SORTS
const COLUMNS = Object.keys(SORTS) as Column[]
const NARROW: readonly Column[] = ['job', 'wait', 'lost']
const MEDIUM: readonly Column[] = ['job', 'runs', 'verdict', 'wait', 'lost', 'started']
const FIGURES: readonly Column[] = ['runs', 'lost', 'lostGpu', 'step', 'started']

interface JobsProps {
  filter: RunsFilter
  query: URLSearchParams
}

export function JobsTable({ filter, query }: JobsProps) {
  // Runs may be sorted by what jobs are not, and jobs by what runs are not.
  const wanted = query.get('sort') ?? ''
  const isKnown = Object.values(SORTS).some(one => one?.replace(/^-/, '') === wanted.replace(/^-/, ''))
  const sort = isKnown ? wanted : '-hours_lost'
  const asked = useMemo(() => ({ ...filter, sort: sort as RunsFilter['sort'] }), [filter, sort])
  const jobs = useStore(() => openJobs(asked), [asked])
  const lines = jobs.lines.value
  const onGpu = (lines ?? []).map(line => line.gpu_hours_lost !== null)
  const isGpu = onGpu.length > 0 && onGpu.every(Boolean)
  const isMixed = !isGpu && onGpu.some(Boolean)
  const fitting = isNarrow.value ? NARROW : isMedium.value ? MEDIUM : COLUMNS
  const columns = isMixed ? fitting : fitting.filter(column => column !== 'lostGpu')
  const trouble = jobs.trouble.value
  return (
    <>
      {trouble && trouble.field !== 'q' && <TroubleBanner what={say.what} error={trouble} />}
      {!lines && !trouble && <Skeleton />}
      {lines?.length === 0 && isFiltered(filter) && <NoMatch filter={filter} query={query} />}
      {lines && lines.length > 0 && (
        <table class="data jobs-table">
          <caption class="visually-hidden">{say.caption}</caption>
          <thead>
            <tr>
              {columns.map(column => (
                <Head key={column} column={column} isGpu={isGpu} sort={sort} query={query} />
              ))}
            </tr>
          </thead>
          {lines.map(line => (
            <Job
              key={`${line.project} ${line.job || line.newest.run_id}`}
              line={line}
              columns={columns}
              filter={filter}
              query={query}
            />
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

interface HeadProps {
  column: Column
  /** All that is listed ran on GPUs. */
  isGpu: boolean
  sort: string
  query: URLSearchParams
}

function Head({ column, isGpu, sort, query }: HeadProps) {
  const label = say.columns[column === 'lost' && isGpu ? 'lostGpu' : column]
  const first = SORTS[column]
  const isSorted = first !== null && sort.replace(/^-/, '') === first.replace(/^-/, '')
  const direction = sort.startsWith('-') ? 'descending' : 'ascending'
  const other = first?.startsWith('-') ? first.slice(1) : `-${first}`
  const press = () => navigate(`/${withQuery(query, { sort: sort === first ? other : first })}`, 'replace')
  return (
    <th
      scope="col"
      class={FIGURES.includes(column) ? 'figure' : ''}
      aria-sort={isSorted ? direction : undefined}
    >
      {first === null ? (
        label
      ) : (
        <button type="button" onClick={press}>
          {label}
          {isSorted && <span aria-hidden="true">{direction === 'descending' ? ' ↓' : ' ↑'}</span>}
        </button>
      )}
    </th>
  )
}

interface JobProps extends JobsProps {
  line: JobLine
  columns: readonly Column[]
}

function Job({ line, columns, filter, query }: JobProps) {
  const isOpen = useSignal(false)
  const { newest, runs } = line
  const cells: Record<Column, preact.ComponentChildren> = {
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
        <a class={`job-name ${runs > 1 ? '' : 'alone'}`} href={runHref(newest.run_id)} title={newest.name}>
          {newest.name}
        </a>{' '}
        {isNarrow.value ? <VerdictBelow run={newest} /> : <small class="faint">{line.project}</small>}
      </>
    ),
    runs: runs.toLocaleString('en'),
    verdict: <Verdict run={newest} />,
    wait: <Wait run={newest} />,
    trend: runs > 1 && <Trend values={line.trend} />,
    lost: <span class="strong">{formatHoursCell(line.hours_lost)}</span>,
    lostGpu: formatHoursCell(line.gpu_hours_lost),
    step: formatDuration(newest.step_us),
    started: <span class="faint">{day(newest)}</span>,
  }
  return (
    <tbody>
      <tr class="job">
        {columns.map(column => (
          <td key={column} class={FIGURES.includes(column) ? 'figure' : ''}>
            {cells[column]}
          </td>
        ))}
      </tr>
      {isOpen.value && <Opened line={line} columns={columns} filter={filter} query={query} />}
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

const day = (run: RunSummary) => formatDay(new Date(run.started_at), new Date(serviceNow()))

function Trend({ values }: { values: readonly (number | null)[] }) {
  const { line, area } = sparkPath(values, SPARK.width, SPARK.height)
  return (
    <svg class="spark" width="120" height="24" role="img" aria-label={say.trendOf(values.length)}>
      <path class="ground" d={`M0,${SPARK.height + 0.5}H${SPARK.width}`} />
      <path class="area" d={area} />
      <path class="line" d={line} />
    </svg>
  )
}

/** Its runs, the newest first. */
function Opened({ line, columns, filter, query }: JobProps) {
  const read = useStore(() => openResource<RunsPage>(stop => readRunsOf(filter, line, stop)), [line, filter])
  useEffect(() => void read.read(), [read])
  const trouble = read.trouble.value
  const listed = withQuery(query, {
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
        <tr key={run.run_id} class="tries-of-job">
          {columns.map(column => (
            <td key={column} class={FIGURES.includes(column) ? 'figure' : ''}>
              {cellOfRun(run, column)}
            </td>
          ))}
        </tr>
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

function cellOfRun(run: RunSummary, column: Column): preact.ComponentChildren {
  switch (column) {
    case 'job':
      return (
        <>
          <a class="job-name of-job" href={runHref(run.run_id)}>
            {run.name}
          </a>
          {isNarrow.value && <VerdictBelow run={run} />}
        </>
      )
    case 'verdict':
      return <Verdict run={run} />
    case 'wait':
      return <Wait run={run} />
    case 'lost':
      return formatHoursCell(run.hours_lost)
    case 'lostGpu':
      return formatHoursCell(run.gpu_hours_lost)
    case 'step':
      return formatDuration(run.step_us)
    case 'started':
      return <span class="faint">{day(run)}</span>
    default:
      return null
  }
}
