/** What the figures rest on: versions, host, cost of measuring, what was lost or could not be measured. */
import type { HostFacts, Run } from '../../api/schema'
import { formatBytes, formatDuration, formatFraction, formatNumber } from '../../format'
import { footnote as say } from '../../text/run'
import { Several } from '../parts/Several'
import './Footnote.css'

export function Footnote({ run }: { run: Run }) {
  const reasons = Map.groupBy(Object.entries(run.not_measured), ([, reason]) => reason)
  return (
    <footer class="footnote detail">
      <p>{[...versions(run), overhead(run), ...losses(run)].filter(Boolean).join(' · ')}</p>
      {(run.hosts.length > 0 || reasons.size > 0) && (
        <details>
          <summary>{say.rest(run.hosts.length, reasons.size)}</summary>
          {[...Map.groupBy(run.hosts, factsOf)].map(([facts, alike]) => (
            <p key={facts}>
              <Several names={alike.map(host => host.hostname)} />: {facts}
            </p>
          ))}
          {reasons.size > 0 && <NotMeasured reasons={reasons} />}
        </details>
      )}
    </footer>
  )
}

function NotMeasured({ reasons }: { reasons: ReadonlyMap<string, readonly (readonly [string, string])[]> }) {
  return (
    <dl class="not-measured">
      <dt class="quiet">{say.notMeasured}</dt>
      {[...reasons].map(([reason, facts]) => (
        <dd key={reason}>
          <code class="quiet">{facts.map(([fact]) => fact).join(', ')}</code> {reason}
        </dd>
      ))}
    </dl>
  )
}

function versions(run: Run): readonly string[] {
  return [
    run.agent_version ? say.agent(run.agent_version) : '',
    run.python_version ? say.python(run.python_version) : '',
    run.torch_version ? say.torch(run.torch_version) : '',
    run.launcher ? say.launched(run.launcher) : '',
  ]
}

/** The first steps, each of which is looked at closely, are little of so many: below, they are most of the mean. */
const LEAST_STEPS = 500

function overhead(run: Run): string {
  if (run.overhead_us === null) return ''
  if (run.steps < LEAST_STEPS)
    return say.overheadAtFirst(formatDuration(run.overhead_us * run.steps), run.steps)
  const share = run.step_us ? formatFraction(run.overhead_us / run.step_us) : null
  return say.overhead(formatDuration(run.overhead_us), share)
}

function losses(run: Run): readonly string[] {
  const kinds = Object.keys(say.dropped) as (keyof typeof say.dropped)[]
  const lost = kinds.filter(kind => run.losses[kind] > 0).map(kind => say.dropped[kind](run.losses[kind]))
  return lost.length > 0 ? lost : [say.nothingDropped]
}

/** Hosts that are alike are described once. */
function factsOf(host: HostFacts): string {
  const cores = host.usable_cores ?? host.allowed_cpus
  const all = host.cpu_count !== null && host.cpu_count !== cores ? formatNumber(host.cpu_count) : null
  const memory = host.memory_limit_bytes ?? host.memory_total_bytes
  const facts = [
    host.cpu_model,
    cores === null ? null : say.cores(formatNumber(cores), all),
    memory === null ? null : say.memory(formatBytes(memory)),
    host.shm_total_bytes === null ? null : say.shm(formatBytes(host.shm_total_bytes)),
    host.numa_nodes !== null && host.numa_nodes > 1 ? say.numa(host.numa_nodes) : null,
    host.open_files_limit === null ? null : say.openFiles(formatNumber(host.open_files_limit)),
  ]
  return facts.filter(Boolean).join(', ')
}
