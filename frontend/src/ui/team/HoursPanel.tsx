/** Hours lost by one kind of group, ranked: the darker part of a bar would come back with the best advice. */
import type { GroupHours } from '../../api/names'
import { formatFraction, formatHoursCell, NOT_MEASURED } from '../../format'
import { withQuery } from '../../router'
import { team as say } from '../../text/team'
import { DataTable } from '../parts/DataTable'
import { Panel } from '../parts/Panel'
import './HoursPanel.css'

const SHOWN = 8

interface HoursPanelProps {
  name: string
  title: string
  groups: readonly GroupHours[]
}

export function HoursPanel({ name, title, groups }: HoursPanelProps) {
  const most = Math.max(...groups.map(group => group.hours_lost)) || 1
  const shown = groups.slice(0, SHOWN)
  return (
    <Panel
      title={title}
      name={name}
      table={() => <HoursTable title={title} groups={groups} />}
      csv={() => ({
        columns: ['name', 'runs', 'hours_lost', 'hours_used', 'hours_recoverable', 'low', 'high'],
        rows: groups.map(group => [
          group.name,
          group.runs,
          group.hours_lost,
          group.hours_used,
          group.hours_recoverable,
          group.hours_recoverable_low,
          group.hours_recoverable_high,
        ]),
      })}
    >
      <ol class="hours" aria-label={title}>
        {shown.map(group => (
          <li key={`${group.name} ${group.search}`}>
            <GroupName group={group} />
            <span class="hours-bar" aria-hidden="true">
              <i style={{ width: `${(100 * group.hours_lost) / most}%` }}>
                <b style={{ width: `${recoverablePercent(group)}%` }} />
              </i>
            </span>
            <span class="hours-figure">
              {formatHoursCell(group.hours_lost)}
              <small>{recoverable(group)}</small>
            </span>
          </li>
        ))}
      </ol>
      {groups.length > SHOWN && <p class="detail">{say.more(groups.length - SHOWN)}</p>}
    </Panel>
  )
}

export function searchHref(group: GroupHours): string {
  return `/${withQuery(new URLSearchParams(), { q: group.search })}`
}

function GroupName({ group }: { group: GroupHours }) {
  const name = group.name || say.unknown
  return group.search === null ? (
    <span class="hours-name">{name}</span>
  ) : (
    <a class="hours-name" href={searchHref(group)} title={name}>
      {name}
    </a>
  )
}

function recoverable({ hours_recoverable }: GroupHours): string {
  return hours_recoverable === null ? say.notPredicted : say.recoverable(formatHoursCell(hours_recoverable))
}

function recoverablePercent({ hours_recoverable, hours_lost }: GroupHours): number {
  return hours_lost > 0 ? (100 * (hours_recoverable ?? 0)) / hours_lost : 0
}

function HoursTable({ title, groups }: { title: string; groups: readonly GroupHours[] }) {
  const hours = (value: number | null) => formatHoursCell(value)
  const rows = groups.map(group => [
    <GroupName key="name" group={group} />,
    group.runs,
    hours(group.hours_lost),
    group.hours_used > 0 ? formatFraction(group.hours_lost / group.hours_used) : NOT_MEASURED,
    hours(group.hours_recoverable),
    hours(group.hours_recoverable_low),
    hours(group.hours_recoverable_high),
  ])
  return <DataTable caption={title} columns={say.columns} rows={rows} isNumeric />
}
