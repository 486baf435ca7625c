/** Load times of the workers side by side, with the limit above which training waits; and their processes. */
import { useMemo } from 'preact/hooks'
import type { WorkerInfo, WorkersPage } from '../../api/schema'
import { measured } from '../../charts/columns'
import { chart, paragraph } from '../../charts/picture'
import { type Load, strips } from '../../charts/strips'
import type { Drawn } from '../../charts/surface'
import { asSentence, capital, formatBytes, formatDuration, formatRange, NOT_MEASURED } from '../../format'
import type { Still } from '../../store/run'
import { workers as say } from '../../text/charts'
import { Chart } from '../parts/Chart'
import { type FigureColumn, figuresOf } from '../parts/figures'
import { Panel, useFolded } from '../parts/Panel'

const COLUMNS: readonly FigureColumn<WorkerInfo>[] = [
  { name: 'worker', label: 'Worker', format: one => say.name(one.worker) },
  { name: 'batches', label: 'Batches' },
  { name: 'load_us_p5', label: '5th', unit: 'us' },
  { name: 'load_us_p50', label: 'Median', unit: 'us' },
  { name: 'load_us_p95', label: '95th', unit: 'us' },
  { name: 'load_us_mean' },
  { name: 'cpu_fraction', label: 'On a CPU', unit: 'fraction' },
  { name: 'runqueue_fraction', label: 'No CPU free', unit: 'fraction' },
  { name: 'blocked_fraction', label: 'Blocked', unit: 'fraction' },
  { name: 'collate_fraction' },
  { name: 'read_bytes_per_s', label: 'Read', unit: 'bytes_per_s' },
  { name: 'rss_bytes', label: 'Memory', unit: 'bytes' },
  { name: 'pss_bytes', label: 'Unshared memory', unit: 'bytes' },
  { label: 'Growth per hour', value: growthOf, format: one => formatGrowth(growthOf(one)) },
  { name: 'threads', label: 'Threads' },
  { name: 'died', label: 'Died' },
  { name: 'raised', label: 'Exceptions' },
]

export function WorkersPanel({ page, run }: { page: WorkersPage | null; run: Still }) {
  const drawn = useMemo(() => page && drawnOf(page), [page])
  const isFolded = useFolded(page === null || areAlike(page))
  if (!page || (page.workers.length === 0 && !page.missing)) return null
  const limit = drawn && limitText(page, run)
  return (
    <Panel
      title={isAlone(page) ? say.titleAlone : say.title}
      detail={isFolded ? foldedText(page) : say.detail}
      isFolded={isFolded}
      name="workers"
      figures={page.workers.length > 0 ? figuresOf(COLUMNS, page.workers) : undefined}
      picture={drawn ? () => [chart(drawn), ...(limit ? [paragraph(limit)] : [])] : undefined}
    >
      {page.missing !== null && <p class="missing">{asSentence(page.missing)}</p>}
      {drawn && <Chart drawn={drawn} label={label(page)} />}
      {limit && <p class="remark">{limit}</p>}
      <WorkerNotes page={page} />
    </Panel>
  )
}

/** No worker is to blame: all medians are on one side of the limit, and none ended or grows. */
function areAlike(page: WorkersPage): boolean {
  const { workers, limit_us: limitUs, missing } = page
  const medians = measured(workers.map(worker => worker.load_us_p50))
  const slow = medians.filter(median => median > (limitUs ?? 0)).length
  return (
    missing === null &&
    (limitUs !== null || isAlone(page)) &&
    medians.length === workers.length &&
    (slow === 0 || slow === medians.length) &&
    workers.every(({ died, raised, is_growing: grows }) => died === 0 && raised === 0 && !grows)
  )
}

/** Without a figure of a load: the fixes have its mean, and the chart each median. */
function foldedText({ workers, limit_us: limitUs }: WorkersPage): string {
  if (limitUs === null) return say.detail
  return say.folded((workers[0]?.load_us_p50 ?? 0) > limitUs, formatDuration(limitUs))
}

/** Without workers there is nothing to compare: one lane, in the training process. */
function isAlone(page: WorkersPage): boolean {
  return page.workers.length === 1 && page.workers[0]?.worker === null
}

/** `null`: none has loaded a batch. */
function drawnOf({ workers, limit_us: limitUs }: WorkersPage): Drawn | null {
  const lanes = workers.map(worker => ({ name: say.name(worker.worker), load: loadOf(worker) }))
  return lanes.some(({ load }) => load) ? strips({ lanes, limitUs, missing: say.noBatch }) : null
}

/** `null`: a worker may die, or sit idle, before it has loaded a single batch. */
function loadOf({ load_us_p5: p5, load_us_p50: p50, load_us_p95: p95 }: WorkerInfo): Load | null {
  return p5 === null || p50 === null || p95 === null ? null : { p5, p50, p95 }
}

function label({ workers }: WorkersPage): string {
  return say.label(workers.filter(worker => worker.load_us_p50 !== null).length, rangeOf(workers))
}

/** From the least median to the greatest. */
function rangeOf(workers: readonly WorkerInfo[]): string {
  const medians = measured(workers.map(worker => worker.load_us_p50))
  return formatRange(formatDuration(Math.min(...medians)), formatDuration(Math.max(...medians)))
}

/** Only the medians above and below the limit say whether one worker is to blame. */
function limitText({ workers, limit_us: limitUs, loader }: WorkersPage, run: Still): string | null {
  if (limitUs === null) return null
  const loaded = workers.filter(worker => worker.load_us_p50 !== null)
  const slow = loaded.filter(worker => (worker.load_us_p50 ?? 0) > limitUs).map(one => say.name(one.worker))
  const count = run.loaders.find(one => one.loader === loader)?.settings.num_workers
  const known = Number(count) || Math.max(1, loaded.length)
  const limit = say.limit(formatDuration(limitUs), known, formatDuration(limitUs / known), run.gpus)
  return `${limit} ${say.above(slow, loaded.length)}`
}

/** The workers as processes, in a few lines: memory, threads, how some ended, and pinning after their work. */
function WorkerNotes({ page }: { page: WorkersPage }) {
  const { workers, pin_us_p50: pinUs } = page
  const grave = workers.flatMap(worker => endsOf(worker))
  const growing = workers.filter(worker => worker.is_growing)
  const quiet = [memoryOf(workers), pinUs === null ? null : say.pin(formatDuration(pinUs))]
  return (
    <ul class="worker-notes remark">
      {grave.map(line => (
        <li key={line} class="firm">
          {line}
        </li>
      ))}
      {growing.map(worker => (
        <li key={worker.worker} class="firm">
          {capital(say.grows(say.name(worker.worker), formatBytes(growthOf(worker)), isAlive(worker)))}
        </li>
      ))}
      {quiet.map(line => line && <li key={line}>{line}</li>)}
    </ul>
  )
}

/** Of resident or of unshared memory, whichever grows faster: a leak shows in the first, copy-on-write in the second. */
function growthOf(worker: WorkerInfo): number | null {
  const known = measured([worker.rss_bytes_per_hour, worker.pss_bytes_per_hour])
  return known.length > 0 ? Math.max(...known) : null
}

function formatGrowth(bytesPerHour: number | null): string {
  if (bytesPerHour === null) return NOT_MEASURED
  return `${bytesPerHour < 0 ? '−' : ''}${formatBytes(Math.abs(bytesPerHour))}`
}

function isAlive({ lives }: WorkerInfo): boolean {
  return (lives.at(-1)?.end_us ?? null) === null
}

function endsOf(worker: WorkerInfo): readonly string[] {
  const name = say.name(worker.worker)
  const lines = [
    worker.died > 0 ? say.died(name, worker.died) : null,
    worker.raised > 0 ? say.raised(name, worker.raised) : null,
  ]
  return lines.filter(line => line !== null).map(capital)
}

/** `null`: nothing was sampled. */
function memoryOf(workers: readonly WorkerInfo[]): string | null {
  const resident = measured(workers.map(worker => worker.rss_bytes))
  if (resident.length === 0) return null
  const own = measured(workers.map(worker => worker.pss_bytes))
  const threads = measured(workers.map(worker => worker.threads))
  return say.memory(
    sizes(resident),
    workers.length > 1,
    own.length > 0 ? sizes(own) : null,
    threads.length > 0 ? say.threads(Math.min(...threads), Math.max(...threads)) : null,
  )
}

function sizes(bytes: readonly number[]): string {
  return say.range(formatBytes(Math.min(...bytes)), formatBytes(Math.max(...bytes)))
}
