/** Is one worker to blame? Load times side by side, with the limit above which training waits; and their processes. */

import type { WorkerInfo, WorkersPage } from '../../api/names'
import type { Table } from '../../csv'
import {
  asSentence,
  formatBytes,
  formatDuration,
  formatFraction,
  formatNumber,
  NOT_MEASURED,
} from '../../format'
import type { Still } from '../../store/run'
import { workers as say } from '../../text/charts'
import { DataTable } from '../parts/DataTable'
import { Panel } from '../parts/Panel'
import { formatGrowth, growthOf, WorkerNotes } from './WorkerNotes'
import './WorkersPanel.css'

export function WorkersPanel({ page, run }: { page: WorkersPage | null; run: Still }) {
  if (!page || (page.workers.length === 0 && !page.missing)) return null
  return (
    <Panel
      title={isAlone(page) ? say.titleAlone : say.title}
      detail={say.detail}
      name="workers"
      csv={page.workers.length > 0 ? () => figures(page) : undefined}
      table={page.workers.length > 0 ? () => <WorkersTable page={page} /> : undefined}
    >
      {page.missing !== null && <p class="missing">{asSentence(page.missing)}</p>}
      {page.workers.some(hasLoaded) && <Strips page={page} run={run} />}
      <WorkerNotes page={page} />
    </Panel>
  )
}

/** Without workers there is nothing to compare: one lane, in the training process. */
function isAlone(page: WorkersPage): boolean {
  return page.workers.length === 1 && page.workers[0]?.worker === null
}

function Strips({ page, run }: { page: WorkersPage; run: Still }) {
  const { workers, limit_us: limitUs } = page
  const loaded = workers.filter(hasLoaded)
  const endUs = axisEnd(Math.max(...loaded.map(worker => worker.load_us_p95), (limitUs ?? 0) * 1.1))
  const at = (us: number) => `${(100 * us) / endUs}%`
  const ticks = [0, 1, 2, 3, 4].map(quarter => (endUs * quarter) / 4)
  const medians = loaded.map(worker => worker.load_us_p50)
  const label = say.label(
    loaded.length,
    formatDuration(Math.min(...medians)),
    formatDuration(Math.max(...medians)),
  )
  return (
    <figure class="strips" role="img" aria-label={label}>
      <div class="strips-lanes">
        <div class="strips-plot">
          {ticks.map(us => (
            <i key={us} class="strips-grid" style={{ left: at(us) }} />
          ))}
          {limitUs !== null && <i class="strips-limit" style={{ left: at(limitUs) }} />}
        </div>
        {workers.map(worker => (
          <Strip key={worker.worker ?? 'training'} worker={worker} at={at} />
        ))}
      </div>
      <div class="strips-axis">
        {ticks.map((us, index) => (
          <span key={us} class={index % 2 === 1 ? 'odd' : ''} style={{ left: at(us) }}>
            {us === 0 ? '0' : formatDuration(us)}
          </span>
        ))}
      </div>
      {limitUs !== null && (
        <figcaption>
          {say.limit(formatDuration(limitUs), run.gpus)} {loaded.length > 1 && aboveLimit(loaded, limitUs)}
        </figcaption>
      )}
    </figure>
  )
}

/** Is one to blame? Only told by which lie on which side of the limit. */
function aboveLimit(loaded: readonly Loaded[], limitUs: number): string {
  const slow = loaded.filter(one => one.load_us_p50 > limitUs)
  return say.above(
    slow.map(one => say.name(one.worker)),
    loaded.length,
  )
}

function Strip({ worker, at }: { worker: WorkerInfo; at(us: number): string }) {
  return (
    <div class="strip">
      <span>{say.name(worker.worker)}</span>
      <div>
        {hasLoaded(worker) && (
          <>
            <i
              class="strip-span"
              style={{ left: at(worker.load_us_p5), right: `calc(100% - ${at(worker.load_us_p95)})` }}
            />
            <i class="strip-median" style={{ left: at(worker.load_us_p50) }} />
          </>
        )}
      </div>
      <span class="strip-figure">{hasLoaded(worker) ? formatDuration(worker.load_us_p50) : say.noBatch}</span>
    </div>
  )
}

type Loaded = WorkerInfo & { load_us_p5: number; load_us_p50: number; load_us_p95: number }

/** A worker may die, or sit idle, before it has loaded a single batch. */
function hasLoaded(worker: WorkerInfo): worker is Loaded {
  return worker.load_us_p50 !== null
}

/** The next 1, 2, 4 or 8 of a power of ten, so that quarters are round. */
function axisEnd(us: number): number {
  const power = 10 ** Math.floor(Math.log10(Math.max(1, us)))
  return [1, 2, 4, 8, 10].map(factor => factor * power).find(end => end >= us) ?? us
}

const FIGURES = [
  ...(['worker', 'batches', 'load_us_p5', 'load_us_p50', 'load_us_p95', 'load_us_mean'] as const),
  ...(['cpu_fraction', 'runqueue_fraction', 'blocked_fraction', 'collate_fraction'] as const),
  ...(['read_bytes_per_s', 'rss_bytes', 'pss_bytes', 'threads', 'died', 'raised'] as const),
] as const

function figures({ workers }: WorkersPage): Table {
  return { columns: FIGURES, rows: workers.map(worker => FIGURES.map(name => worker[name])) }
}

function WorkersTable({ page }: { page: WorkersPage }) {
  const rows = page.workers.map(worker => [
    say.name(worker.worker),
    formatNumber(worker.batches),
    formatDuration(worker.load_us_p5),
    formatDuration(worker.load_us_p50),
    formatDuration(worker.load_us_p95),
    formatFraction(worker.cpu_fraction),
    formatFraction(worker.runqueue_fraction),
    formatFraction(worker.blocked_fraction),
    worker.read_bytes_per_s === null ? NOT_MEASURED : `${formatBytes(worker.read_bytes_per_s)}/s`,
    formatBytes(worker.rss_bytes),
    formatBytes(worker.pss_bytes),
    formatGrowth(growthOf(worker)),
    formatNumber(worker.threads),
    formatNumber(worker.died),
    formatNumber(worker.raised),
  ])
  return <DataTable caption={say.title} columns={Object.values(say.columns)} rows={rows} isNumeric />
}
