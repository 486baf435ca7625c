/** The workers as processes, in a few lines: memory, threads, how some ended, and pinning after their work. */
import type { WorkerInfo, WorkersPage } from '../../api/schema'
import { capital, formatBytes, formatDuration, NOT_MEASURED } from '../../format'
import { workers as say } from '../../text/charts'

export function WorkerNotes({ page }: { page: WorkersPage }) {
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
export function growthOf(worker: WorkerInfo): number | null {
  const known = [worker.rss_bytes_per_hour, worker.pss_bytes_per_hour].filter(slope => slope !== null)
  return known.length > 0 ? Math.max(...known) : null
}

export function formatGrowth(bytesPerHour: number | null): string {
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

function measured(values: readonly (number | null)[]): readonly number[] {
  return values.filter(value => value !== null)
}
