/** Where the hours go: what the best advice would recover, with whom to start, and how accurate predictions were. */
import { get } from '../api/client'
import type { GroupHours, HitRate, Team } from '../api/schema'
import { formatFraction, formatHours, formatHoursCell, formatRange, NOT_MEASURED } from '../format'
import { runHref } from '../router'
import { audit } from '../text/past'
import { hourNoun, text } from '../text/shared'
import { team as say } from '../text/team'
import { AuditList } from '../ui/parts/AuditList'
import { TroubleBanner } from '../ui/parts/Banner'
import { DataTable } from '../ui/parts/DataTable'
import { Legend } from '../ui/parts/Legend'
import { Panel } from '../ui/parts/Panel'
import { usePage } from '../ui/parts/page'
import { Skeleton } from '../ui/parts/Skeleton'
import { useAnswer } from '../ui/parts/stores'
import { HoursPanel, searchHref } from '../ui/team/HoursPanel'
import './TeamPage.css'

/** Hours of a week change slowly, and are summed over all its runs each time. */
const REST_MS = 15_000
/** Side by side where there is room. */
const COLUMNS = [
  ['users', 'projects', 'hosts'],
  ['datasets', 'mounts'],
] as const

export function TeamPage() {
  const team = useAnswer(stop => get('/api/v1/team', {}, stop), [], { restMs: REST_MS, topics: ['runs'] })
  usePage(text.team, {})
  const trouble = team.trouble.value
  return (
    <>
      {trouble && <TroubleBanner what={say.what} error={trouble} />}
      {!team.value && !trouble && <Skeleton />}
      {team.value && <Loaded team={team.value} />}
      {(team.value || trouble) && (
        <Panel title={audit.title} detail={audit.detail}>
          <AuditList />
        </Panel>
      )}
    </>
  )
}

function Loaded({ team }: { team: Team }) {
  if (team.hours.hours_used === 0) {
    return (
      <div class="empty">
        <h1>{say.none}</h1>
        <p>{say.noneDetail}</p>
      </div>
    )
  }
  return (
    <>
      <Head team={team} />
      <div class="team-groups">
        {COLUMNS.map(names => (
          <div key={names[0]}>
            {names.map(name =>
              team[name].length > 0 ? (
                <HoursPanel key={name} name={name} title={say.groups[name]} groups={team[name]} />
              ) : null,
            )}
          </div>
        ))}
      </div>
      <Shared team={team} />
      <Hits rates={team.hit_rates} />
    </>
  )
}

function Head({ team: { hours, users, on_gpu, gpu_hours_lost: gpuHours = 0 } }: { team: Team }) {
  const noun = hourNoun(on_gpu)
  const onGpus = on_gpu || gpuHours === 0 ? '' : say.sentence.onGpus(formatHours(gpuHours, 'GPU-hour'))
  const lost = formatHours(hours.hours_lost, noun)
  if (hours.hours_lost === 0)
    return <h1 class="sentence page-head">{say.nothingLost(formatHours(hours.hours_used, noun))}</h1>
  if (hours.hours_recoverable === null) return <h1 class="sentence page-head">{say.sentence.none(lost)}</h1>
  const first = bestOf(users)
  return (
    <div class="page-head team-head">
      <h1 class="sentence">
        {say.sentence.before}
        {say.sentence.lost(lost, onGpus)}
        <em>{recoverableOf(hours, noun)}</em>
        {say.sentence.after}
      </h1>
      <p class="why">
        {first && (
          <>
            {say.startWith}
            <a href={searchHref(first)}>{first.name || say.unknown}</a>
            {say.startDetail(recoverableOf(first, noun))}{' '}
          </>
        )}
        {hours.hours_recoverable_low !== null && say.interval}
      </p>
      <Legend entries={Object.entries(say.legend)} />
    </div>
  )
}

/** By the ends of the predictions' intervals; without them, as predicted. */
function recoverableOf(group: GroupHours, noun: ReturnType<typeof hourNoun>): string {
  const { hours_recoverable: hours, hours_recoverable_low: low, hours_recoverable_high: high } = group
  if (low === null || high === null) return formatHours(hours, noun)
  return formatRange(formatHours(low, noun), formatHours(high, noun))
}

/** Who could recover most, at least. */
function bestOf(groups: readonly GroupHours[]): GroupHours | null {
  const known = groups.filter(group => (group.hours_recoverable ?? 0) > 0 && group.search !== null)
  const least = (group: GroupHours) => group.hours_recoverable_low ?? group.hours_recoverable ?? 0
  return known.toSorted((a, b) => least(b) - least(a))[0] ?? null
}

function Shared({ team: { shared_causes } }: { team: Team }) {
  if (shared_causes.length === 0) return null
  return (
    <Panel title={say.shared}>
      <ul class="shared-causes">
        {shared_causes.map(cause => (
          <li key={`${cause.cause} ${cause.place} ${cause.started_at}`}>
            <b>{formatHoursCell(cause.hours_lost)}</b>
            <div>
              <p>{cause.sentence}</p>
              <p class="quiet">
                {cause.runs.map((run, index) => (
                  <span key={run.run_id}>
                    {index > 0 && ', '}
                    <a class="mono-name" href={runHref(run.run_id)}>
                      {run.name}
                    </a>{' '}
                    <span class="faint">{formatHoursCell(run.hours_lost)}</span>
                  </span>
                ))}
              </p>
            </div>
          </li>
        ))}
      </ul>
    </Panel>
  )
}

function Hits({ rates }: { rates: readonly HitRate[] }) {
  return (
    <Panel title={say.hits}>
      {rates.length === 0 ? (
        <p class="missing">{say.noHits}</p>
      ) : (
        <DataTable
          caption={say.hits}
          columns={say.hitColumns}
          isNumeric
          rows={rates.map(rate => [
            rate.change_label ?? rate.cause_label ?? say.allAdvice,
            rate.proven,
            say.within(rate.inside, rate.predicted),
            rate.median_error === null ? NOT_MEASURED : formatFraction(rate.median_error),
          ])}
        />
      )}
    </Panel>
  )
}
