/** Hosts from which no run reports now, in short: what they are, when they were seen, and what ran there last. */
import { useSignal } from '@preact/signals'
import type { Host } from '../../api/schema'
import { hosts as say } from '../../text/hosts'
import { Toggle } from '../parts/Button'
import { DataTable } from '../parts/DataTable'
import { Panel } from '../parts/Panel'
import { HostLink, hardware, RunLink, seenAt } from './HostRow'
import './SilentHosts.css'

/** Lines that are shown before all are asked for. */
const FEW = 8
/** Of hosts that are alike so many are named; of more the first. */
const NAMED = 3

/** `hosts`: those seen last come first. */
export function SilentHosts({ hosts }: { hosts: readonly Host[] }) {
  const showsAll = useSignal(false)
  const lines = alike(hosts)
  const shown = showsAll.value ? lines : lines.slice(0, FEW)
  return (
    <Panel
      title={say.silent.title}
      detail={say.silent.detail(hosts.length)}
      controls={lines.length > FEW && <Toggle on={showsAll}>{say.silent.all(hosts.length)}</Toggle>}
    >
      <DataTable caption={say.silent.title} columns={say.silent.columns} class="silent-hosts stacking">
        {shown.map(line => (
          <Line key={line[0]?.hostname} hosts={line} />
        ))}
      </DataTable>
    </Panel>
  )
}

/** Those of one kind on which the same ran last are one line. */
export function alike(hosts: readonly Host[]): readonly (readonly Host[])[] {
  const kindOf = (host: Host) => JSON.stringify([hardware(host), host.runs.map(run => run.run_id)])
  return [...Map.groupBy(hosts, kindOf).values()]
}

function Line({ hosts }: { hosts: readonly Host[] }) {
  const [first] = hosts
  if (!first) return null
  return (
    <tr>
      <th scope="row">
        {hosts.length <= NAMED ? (
          <Names hosts={hosts} />
        ) : (
          <details>
            <summary>{say.silent.alike(first.hostname, hosts.length - 1)}</summary>
            <Names hosts={hosts} />
          </details>
        )}
      </th>
      <td>{hardware(first)}</td>
      <td>{seenAt(first.last_seen_at)}</td>
      <td>
        {first.runs.map(run => (
          <RunLink key={run.run_id} run={run} />
        ))}
      </td>
    </tr>
  )
}

function Names({ hosts }: { hosts: readonly Host[] }) {
  return (
    <ul class="silent-names">
      {hosts.map(host => (
        <li key={host.hostname}>
          <HostLink hostname={host.hostname} />
        </li>
      ))}
    </ul>
  )
}
