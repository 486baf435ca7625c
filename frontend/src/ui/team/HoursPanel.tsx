/** Hours lost by one kind of group, ranked: the darker part of a bar could be recovered with the best advice. */
import type { GroupHours } from '../../api/schema'
import { formatHoursCell, formatRange } from '../../format'
import { withQuery } from '../../router'
import { team as say } from '../../text/team'
import { type FigureColumn, figuresOf } from '../parts/figures'
import { Panel } from '../parts/Panel'
import './HoursPanel.css'

const SHOWN = 8

const COLUMNS: readonly FigureColumn<GroupHours>[] = [
  {
    name: 'name',
    label: 'Name',
    value: group => group.name,
    format: group => {
      const text = group.name || say.unknown
      return group.search === null ? text : { text, href: searchHref(group) }
    },
  },
  { name: 'runs', label: 'Runs' },
  hoursColumn('hours_lost', 'Lost', group => group.hours_lost),
  { name: 'hours_used' },
  {
    label: 'Of used',
    unit: 'fraction',
    value: group => (group.hours_used > 0 ? group.hours_lost / group.hours_used : null),
  },
  hoursColumn('hours_recoverable', 'Recoverable', group => group.hours_recoverable),
  hoursColumn('low', 'Low', group => group.hours_recoverable_low),
  hoursColumn('high', 'High', group => group.hours_recoverable_high),
]

function hoursColumn(
  name: string,
  label: string,
  value: (group: GroupHours) => number | null,
): FigureColumn<GroupHours> {
  return { name, label, value, format: group => formatHoursCell(value(group)) }
}

interface HoursPanelProps {
  name: string
  title: string
  groups: readonly GroupHours[]
}

export function HoursPanel({ name, title, groups }: HoursPanelProps) {
  const most = Math.max(...groups.map(group => group.hours_lost)) || 1
  const shown = groups.slice(0, SHOWN)
  return (
    <Panel title={title} name={name} figures={figuresOf(COLUMNS, groups)}>
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
  return `/${withQuery({ q: group.search }, new URLSearchParams())}`
}

function GroupName({ group }: { group: GroupHours }) {
  const name = group.name || say.unknown
  return group.search === null ? (
    <span class="cut">{name}</span>
  ) : (
    <a class="cut" href={searchHref(group)} title={name}>
      {name}
    </a>
  )
}

function recoverable(group: GroupHours): string {
  const { hours_recoverable: hours, hours_recoverable_low: low, hours_recoverable_high: high } = group
  if (hours === null) return say.notPredicted
  const ends = [low ?? hours, high ?? hours].map(each => formatHoursCell(each))
  return say.recoverable(ends.reduce(formatRange))
}

function recoverablePercent({ hours_recoverable, hours_lost }: GroupHours): number {
  return hours_lost > 0 ? (100 * (hours_recoverable ?? 0)) / hours_lost : 0
}
