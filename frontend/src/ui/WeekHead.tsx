/** The week in one sentence, by cause, and day by day. */
import type { Week } from '../api/names'
import { formatFraction, formatHours, formatHoursCell } from '../format'
import { causeWord, hourNoun, week as say } from '../text'

/** Thinner slices have no room for their name; the rest of them is told together. */
const NAMED_CAUSES = 5

export function WeekHead({ week }: { week: Week }) {
  const noun = hourNoun(week.on_gpu)
  return (
    <section class="week" aria-labelledby="week-sentence">
      <div>
        <Sentence week={week} />
        {week.hours_lost > 0 && <CauseBar week={week} noun={noun} />}
      </div>
      {week.days.some(day => day.hours_used > 0) && <Days week={week} />}
    </section>
  )
}

function Sentence({ week }: { week: Week }) {
  if (week.hours_used === 0) {
    return (
      <h1 id="week-sentence" class="sentence">
        {say.none}
      </h1>
    )
  }
  const share = formatFraction(week.hours_lost / week.hours_used)
  return (
    <h1 id="week-sentence" class="sentence">
      {say.before}
      <em>{lostOfUsed(week)}</em>
      {say.after(share, change(week, share))}
    </h1>
  )
}

/** "412 of 2,290 GPU-hours": the unit once where both have the same. */
function lostOfUsed(week: Week): string {
  const noun = hourNoun(week.on_gpu)
  const [lost, used] = [formatHours(week.hours_lost, noun), formatHours(week.hours_used, noun)]
  const [figure, unit] = lost.split(' ')
  return say.lost(used.split(' ')[1] === unit ? (figure ?? lost) : lost, used)
}

function change(week: Week, share: string): string {
  if (week.previous_hours_used === 0) return ''
  const before = week.previous_hours_lost / week.previous_hours_used
  const previous = formatFraction(before)
  if (previous === share) return say.same
  return week.hours_lost / week.hours_used > before ? say.up(previous) : say.down(previous)
}

function CauseBar({ week, noun }: { week: Week; noun: string }) {
  const causes = week.by_cause
    .filter(cause => cause.hours_lost > 0)
    .toSorted((a, b) => Number(a.cause === null) - Number(b.cause === null) || b.hours_lost - a.hours_lost)
    .slice(0, NAMED_CAUSES)
  const total = causes.reduce((sum, cause) => sum + cause.hours_lost, 0)
  return (
    <>
      <div class="cause-bar" aria-hidden="true">
        {causes.map(({ cause, hours_lost }) => (
          <i key={cause ?? 'none'} style={{ width: `${(100 * hours_lost) / total}%` }} />
        ))}
      </div>
      <ul class="causes" aria-label={say.causes(noun)}>
        {causes.map(({ cause, hours_lost }) => (
          <li key={cause ?? 'none'}>
            <i aria-hidden="true" />
            <b>{formatHoursCell(hours_lost, 0)}</b> {cause ? causeWord[cause] : say.noCause}
          </li>
        ))}
      </ul>
    </>
  )
}

function Days({ week }: { week: Week }) {
  const most = Math.max(...week.days.map(day => day.hours_lost))
  return (
    <figure class="days">
      <figcaption>
        <b>{formatHoursCell(most, 0)}</b> {say.days(week.on_gpu)}
      </figcaption>
      <ol aria-label={say.days(week.on_gpu)}>
        {week.days.map((day, index) => (
          <li
            key={day.day}
            class={index < 7 ? 'before' : ''}
            title={`${day.day}: ${formatHoursCell(day.hours_lost, 0)}`}
          >
            <i style={{ height: `${most > 0 ? (100 * day.hours_lost) / most : 0}%` }} aria-hidden="true" />
            <span class="visually-hidden">{`${day.day}: ${formatHoursCell(day.hours_lost, 0)}`}</span>
          </li>
        ))}
        <li class="last" aria-hidden="true">
          <b style={{ bottom: `${most > 0 ? (100 * (week.days.at(-1)?.hours_lost ?? 0)) / most : 0}%` }}>
            {formatHoursCell(week.days.at(-1)?.hours_lost ?? null, 0)}
          </b>
        </li>
      </ol>
      <div class="days-foot" aria-hidden="true">
        <span>{say.lastWeek}</span>
        <span>{say.thisWeek}</span>
      </div>
    </figure>
  )
}
