/** The machines: what runs use of each, who competes, and one of them over time. */
import type { Host, HostsPage as Page } from '../api/schema'
import type { HostClock } from '../charts/declared/host'
import { formatClock, formatDay } from '../format'
import { navigate, route, withQuery } from '../router'
import { service } from '../store/connection'
import { openHosts } from '../store/hosts'
import { hosts as say } from '../text/hosts'
import { text } from '../text/shared'
import { HostRow } from '../ui/hosts/HostRow'
import { SilentHosts } from '../ui/hosts/SilentHosts'
import { TroubleBanner } from '../ui/parts/Banner'
import { Choice } from '../ui/parts/Choice'
import { DataTable } from '../ui/parts/DataTable'
import { HostPanels } from '../ui/parts/HostPanels'
import { Legend } from '../ui/parts/Legend'
import { usePage } from '../ui/parts/page'
import { Skeleton } from '../ui/parts/Skeleton'
import { useStore } from '../ui/parts/stores'
import './HostsPage.css'

const DAY_S = 86_400

export function HostsPage() {
  const { query } = route.value
  const hostname = query.get('host')
  const spanS = Number(say.ranges.find(([value]) => value === query.get('span'))?.[0] ?? say.ranges[0][0])
  const hosts = useStore(() => openHosts(hostname, spanS), [hostname, spanS])
  usePage(hostname ?? text.hosts, { Escape: () => hostname && navigate('/hosts') }, [hostname])
  const page = hosts.value
  const trouble = hosts.trouble.value
  return (
    <>
      {trouble && <TroubleBanner what={say.what} error={trouble} />}
      {!page && !trouble && <Skeleton />}
      {page && <Loaded page={page} hostname={hostname} spanS={spanS} />}
    </>
  )
}

function Loaded({ page, hostname, spanS }: { page: Page; hostname: string | null; spanS: number }) {
  if (page.hosts.length === 0 && !page.history) {
    return (
      <div class="empty">
        <h1>{say.none}</h1>
        <p>{say.noneDetail}</p>
      </div>
    )
  }
  const project = service.value?.project ?? null
  const silent = hostname === null ? page.hosts.filter(host => !host.is_live) : []
  const inTable = page.hosts.filter(host => !silent.includes(host))
  return (
    <>
      <div class="page-head hosts-head">
        {hostname === null ? (
          <Sentence hosts={page.hosts} />
        ) : (
          <>
            <a href="/hosts">{say.all}</a>
            <h1 class="sentence">{hostname}</h1>
          </>
        )}
        {project !== null && <p class="detail">{say.bound(project)}</p>}
        {inTable.length > 0 && <Legend entries={Object.entries(say.legend)} />}
      </div>
      {inTable.length > 0 && (
        <DataTable caption={say.caption} columns={Object.values(say.columns)} class="hosts stacking">
          {inTable.map(host => (
            <HostRow key={host.hostname} host={host} isLink={hostname === null} />
          ))}
        </DataTable>
      )}
      {silent.length > 0 && <SilentHosts hosts={silent} />}
      {page.history && (
        <HostPanels
          history={page.history}
          clock={spanS >= DAY_S ? BY_DAY : BY_CLOCK}
          title={say.history}
          controls={
            <Choice
              label={say.range}
              value={String(spanS)}
              options={say.ranges}
              onChoose={span => navigate(`/hosts${withQuery({ span })}`, 'replace')}
            />
          }
        />
      )}
    </>
  )
}

const BY_CLOCK: HostClock = { originMs: 0, label: atS => formatClock(atS * 1_000) }
const BY_DAY: HostClock = { originMs: 0, label: atS => formatDay(new Date(atS * 1_000), new Date()) }

function Sentence({ hosts }: { hosts: readonly Host[] }) {
  const live = hosts.filter(host => host.is_live).length
  const competing = hosts.filter(host => host.competing.length > 0).map(host => host.hostname)
  return (
    <h1 class="sentence">
      {say.sentence(live, hosts.length)}
      {competing.length > 0 && <em> {say.competing(list(competing))}</em>}
    </h1>
  )
}

const NAMED = 3

const LIST = new Intl.ListFormat('en-GB')

function list(names: readonly string[]): string {
  const rest = names.length - NAMED + 1
  return LIST.format(rest > 1 ? [...names.slice(0, NAMED - 1), `${rest} more`] : names)
}
