/** One host in the table: its GPUs as cells, who keeps its cores busy, how full it is, and the runs on it. */
import type { ComponentChildren } from 'preact'
import { serviceNow } from '../../api/client'
import type { Host, HostFlow, HostGpu, HostRun } from '../../api/schema'
import {
  capital,
  formatBytes,
  formatDay,
  formatFraction,
  formatNumber,
  formatRate,
  inZone,
  NOT_MEASURED,
  plural,
} from '../../format'
import { runHref } from '../../router'
import { hosts as say } from '../../text/hosts'
import { text } from '../../text/shared'
import { verdictTone, verdictWord } from '../../verdict'
import { VerdictGlyph } from '../parts/Glyph'
import './HostRow.css'

export function HostRow({ host, isLink }: { host: Host; isLink: boolean }) {
  const cells = {
    gpus: <Gpus gpus={host.gpus} />,
    cores: <Cores host={host} />,
    memory: <Level used={host.memory_used_bytes} limit={host.memory_limit_bytes} />,
    shm: <Level used={host.shm_used_bytes} limit={host.shm_total_bytes} />,
    disk: <Flow flow={host.disk_read} missing={host.not_measured.disks} />,
    network: <Flow flow={host.network_received} missing={host.not_measured.networks} />,
    runs: <Runs host={host} />,
  }
  return (
    <>
      <tr class={`host ${host.is_live ? '' : 'resting'}`}>
        <th scope="row">
          {isLink ? (
            <HostLink hostname={host.hostname} />
          ) : (
            <span class="mono-name cut" title={host.hostname}>
              {host.hostname}
            </span>
          )}
          <small>{[hardware(host), lastSeen(host)].filter(Boolean).join(', ')}</small>
        </th>
        {Object.entries(cells).map(([column, cell]) => (
          <td key={column} data-label={say.columns[column as keyof typeof cells]}>
            {cell}
          </td>
        ))}
      </tr>
      {host.competing.length > 0 && (
        <tr class="competing">
          <td colSpan={8}>{host.competing.join(' ')}</td>
        </tr>
      )}
    </>
  )
}

export function HostLink({ hostname }: Pick<Host, 'hostname'>) {
  return (
    <a class="mono-name cut" title={hostname} href={`/hosts?host=${encodeURIComponent(hostname)}`}>
      {hostname}
    </a>
  )
}

export function hardware({ facts, gpus }: Host): string {
  const cores = facts.usable_cores === null ? null : plural(Number(facts.usable_cores.toFixed(1)), 'core')
  const gpu = gpus[0] ? `${gpus.length} × ${gpus[0].name.replace(/^NVIDIA /, '')}` : null
  return [cores, gpu].filter(Boolean).join(', ')
}

function lastSeen({ is_live, last_seen_at }: Host): string | null {
  return is_live ? null : say.lastSeen(seenAt(last_seen_at))
}

export function seenAt(at: string): string {
  return inZone(formatDay(new Date(at), new Date(serviceNow())))
}

/** Filled from below by how busy it is; above that, hatched, the share that its run waits. */
function Gpus({ gpus }: { gpus: readonly HostGpu[] }) {
  if (gpus.length === 0) return <span class="faint">{say.noGpu}</span>
  const labels = gpus.map(gpu => {
    const wait = gpu.data_stall_fraction === null ? null : formatFraction(gpu.data_stall_fraction)
    return say.gpu(gpu.gpu_index, formatFraction(gpu.util_fraction), wait)
  })
  return (
    <span class="gpus" role="img" aria-label={labels.join('; ')}>
      {gpus.map((gpu, index) => {
        const busy = gpu.util_fraction ?? 0
        const wait = Math.min(1 - busy, gpu.data_stall_fraction ?? 0)
        return (
          <i key={gpu.gpu_index} title={labels[index]} class={gpu.util_fraction === null ? 'unknown' : ''}>
            <b class="wait" style={{ height: `${100 * wait}%` }} />
            <b class="busy" style={{ height: `${100 * busy}%` }} />
          </i>
        )
      })}
    </span>
  )
}

function Cores({ host: { cores } }: { host: Host }) {
  const { own, others, idle } = cores
  if (own === null || others === null || idle === null) return <Meter parts={null} missing={cores.missing} />
  const all = own + others + idle || 1
  const shares = [
    [own, say.own],
    [others, say.others],
    [idle, say.idle],
  ] as const
  return (
    <Meter
      parts={[
        ['own', own / all],
        ['others', others / all],
      ]}
    >
      {shares.map(([value, name], index) => (
        <span key={name} class={index === 0 ? '' : 'faint'}>
          {index > 0 && ' · '}
          {formatNumber(Number(value.toFixed(value < 10 ? 1 : 0)))} {name}
        </span>
      ))}
    </Meter>
  )
}

function Level({ used, limit }: { used: number | null; limit: number | null }) {
  if (used === null || !limit) return <Meter parts={null} />
  return (
    <Meter parts={[['used', used / limit]]} title={say.ofUsed(formatBytes(used), formatBytes(limit))}>
      {formatFraction(used / limit)} <span class="faint">{formatBytes(limit)}</span>
    </Meter>
  )
}

function Flow({ flow: { now, most }, missing }: { flow: HostFlow; missing: string | undefined }) {
  if (now === null) return <Meter parts={null} missing={missing ?? null} />
  // Without a most there is nothing that a bar could be a share of.
  if (most === null) return <span title={say.noMost}>{formatRate(now)}</span>
  return (
    <Meter parts={[['used', most > 0 ? now / most : 0]]} title={say.most(formatRate(most))}>
      {formatRate(now)}
    </Meter>
  )
}

function Runs({ host }: { host: Host }) {
  return (
    <ul>
      {!host.is_live && <li class="faint">{say.lastRun}</li>}
      {host.runs.map(run => (
        <li key={run.run_id}>
          <RunLink run={run} />
        </li>
      ))}
    </ul>
  )
}

export function RunLink({ run }: { run: HostRun }) {
  const word = verdictWord(run)
  return (
    <span class={`host-run with-glyph verdict-word ${verdictTone(run)}`}>
      <span role="img" aria-label={word} title={`${word}${run.cause_label ? `, ${run.cause_label}` : ''}`}>
        <VerdictGlyph judged={run} />
      </span>
      <a class="mono-name cut" title={run.name} href={runHref(run.run_id)}>
        {run.name}
      </a>
      {run.data_stall_fraction !== null && (
        <small title={text.perStep(formatFraction(run.data_stall_fraction))}>
          {formatFraction(run.data_stall_fraction)}
        </small>
      )}
    </span>
  )
}

interface MeterProps {
  /** Shares of the whole with the class of their colour; `null`: not measured. */
  parts: readonly (readonly [kind: string, share: number])[] | null
  /** Why there is nothing. */
  missing?: string | null
  title?: string
  children?: ComponentChildren
}

/** How full something is: a bar of parts, and the figure beside it. Not measured is a dash, never an empty bar. */
function Meter({ parts, missing, title, children }: MeterProps) {
  if (!parts) {
    return (
      <span class="faint" title={missing ? capital(missing) : text.notMeasured}>
        {NOT_MEASURED}
        <span class="visually-hidden"> {missing ?? text.notMeasured}</span>
      </span>
    )
  }
  return (
    <span class="meter" title={title}>
      <span class="meter-bar" aria-hidden="true">
        {parts.map(([kind, share]) => (
          <i key={kind} class={kind} style={{ width: formatFraction(Math.min(1, Math.max(0, share))) }} />
        ))}
      </span>
      <span>{children}</span>
    </span>
  )
}
