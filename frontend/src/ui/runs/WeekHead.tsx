/** The week in one sentence, by cause, and day by day; causes and days choose what the table lists. */
import { useSignal } from '@preact/signals'
import type { CauseHours, Week } from '../../api/schema'
import { formatFraction, formatHours, formatHoursCell, formatWeekday } from '../../format'
import { navigate, withQuery } from '../../router'
import { listFilter } from '../../store/filter'
import { hasTerm, ofDay, toggled } from '../../store/terms'
import { week as say } from '../../text/runs'
import { hourNoun } from '../../text/shared'
import './WeekHead.css'

/** Thinner slices have no room for their name; the rest is one slice. */
const NAMED_CAUSES = 4
/** A slice of the bar and its name have one opacity: less from one to the next. */
const OPACITIES = [1, 0.78, 0.58, 0.42]
const opacityAt = (place: number) => OPACITIES[place] ?? 0.28

interface WeekProps {
  week: Week
  /** Of all runs, and not only of those that the filters find. */
  isOfAll: boolean
}

export function WeekHead({ week, isOfAll }: WeekProps) {
  return (
    <section class="week" aria-labelledby="week-sentence">
      <div>
        <Sentence week={week} isOfAll={isOfAll} />
        {week.hours_lost > 0 && <CauseBar week={week} />}
      </div>
      {week.days.some(day => day.hours_used > 0) && <Days week={week} />}
    </section>
  )
}

function Sentence({ week, isOfAll }: WeekProps) {
  const share = formatFraction(week.hours_lost / week.hours_used)
  return (
    <h1 id="week-sentence" class="sentence">
      {week.hours_used === 0 ? (
        isOfAll ? (
          say.none
        ) : (
          say.noneFound
        )
      ) : (
        <>
          {isOfAll ? say.before : say.beforeFound}
          <em>{lostOfUsed(week)}</em>
          {onGpus(week)}
          {say.after(share, change(week, share))}
        </>
      )}
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

/** Where some runs compute on GPUs and others do not; hours are of both. */
function onGpus({ on_gpu, gpu_hours_lost: lost = 0 }: Week): string {
  return on_gpu || lost === 0 ? '' : say.onGpus(formatHours(lost, 'GPU-hour'))
}

function change(week: Week, share: string): string {
  if (week.previous_hours_used === 0) return ''
  const before = week.previous_hours_lost / week.previous_hours_used
  const previous = formatFraction(before)
  if (previous === share) return say.same
  return week.hours_lost / week.hours_used > before ? say.up(previous) : say.down(previous)
}

interface Slice {
  words: string
  hours: number
  /** Of the search: runs with this cause. */
  term: string
}

/** The largest first, then hours without a single cause, then all small ones as one. */
export function slicesOf(causes: readonly CauseHours[]): readonly Slice[] {
  const named = causes.filter(({ cause, hours_lost }) => cause !== null && hours_lost > 0)
  const sorted = named.toSorted((a, b) => b.hours_lost - a.hours_lost)
  // A single one more is named too: "other" would say less in the same room.
  const count = sorted.length === NAMED_CAUSES + 1 ? sorted.length : NAMED_CAUSES
  const rest = sorted.slice(count)
  const none = causes.filter(({ cause, hours_lost }) => cause === null && hours_lost > 0)
  return [
    ...sorted.slice(0, count).map(each => slice(each.cause_label ?? '', [each])),
    ...(rest.length > 0 ? [slice(say.otherCauses, rest)] : []),
    ...(none.length > 0 ? [slice(say.noCause, none)] : []),
  ]
}

function slice(words: string, causes: readonly CauseHours[]): Slice {
  return {
    words,
    hours: causes.reduce((sum, { hours_lost }) => sum + hours_lost, 0),
    term: `cause:${causes.map(({ cause }) => cause ?? 'none').join()}`,
  }
}

function CauseBar({ week }: { week: Week }) {
  const slices = slicesOf(week.by_cause)
  const { q } = listFilter.value
  const isAny = slices.some(({ term }) => hasTerm(q, term))
  const press = (term: string) => navigate(`/${withQuery({ q: toggled(q, [term]) })}`)
  return (
    <>
      {/* The words below are the same buttons: the keyboard and the screen reader need them once. */}
      <div class={`cause-bar ${isAny ? 'some-off' : ''}`} aria-hidden="true">
        {slices.map(({ term, words, hours }, place) => (
          <button
            key={term}
            type="button"
            class="filled"
            tabIndex={-1}
            aria-pressed={hasTerm(q, term)}
            title={say.causeTitle(formatHoursCell(hours, 0), words)}
            style={{ flexGrow: (100 * hours) / week.hours_lost, opacity: opacityAt(place) }}
            onClick={() => press(term)}
          />
        ))}
      </div>
      <ul class="causes quiet" aria-label={say.causes(hourNoun(week.on_gpu))}>
        {slices.map(({ term, words, hours }, place) => (
          <li key={term}>
            <button type="button" aria-pressed={hasTerm(q, term)} onClick={() => press(term)}>
              <i class="filled" aria-hidden="true" style={{ opacity: opacityAt(place) }} />
              <b>{formatHoursCell(hours, 0)}</b> {words}
            </button>
          </li>
        ))}
      </ul>
    </>
  )
}

function Days({ week }: { week: Week }) {
  const looked = useSignal<number | null>(null)
  const most = Math.max(...week.days.map(day => day.hours_lost))
  const { q } = listFilter.value
  const day = week.days[looked.value ?? -1]
  const last = week.days.at(-1)?.hours_lost ?? null
  const part = (hours: number) => `${most > 0 ? (100 * hours) / most : 0}%`
  return (
    <figure class="days faint">
      <figcaption aria-hidden={day ? 'true' : undefined}>
        {day ? (
          <b class="firm">
            {say.day(
              formatWeekday(day.day),
              formatHoursCell(day.hours_lost, 0),
              formatHoursCell(day.hours_used, 0),
            )}
          </b>
        ) : (
          <>
            <b class="firm">{formatHoursCell(most, 0)}</b> {say.days(week.on_gpu)}
          </>
        )}
      </figcaption>
      <ol aria-label={say.days(week.on_gpu)} onPointerLeave={() => (looked.value = null)}>
        {week.days.map(({ day: name, hours_lost: lost, hours_used: used }, index) => (
          <li key={name} class={index < 7 ? 'before' : ''}>
            <button
              type="button"
              aria-label={say.day(formatWeekday(name), formatHoursCell(lost, 0), formatHoursCell(used, 0))}
              aria-pressed={ofDay(name).every(term => hasTerm(q, term))}
              onPointerEnter={() => (looked.value = index)}
              onFocus={() => (looked.value = index)}
              onBlur={() => (looked.value = null)}
              onClick={() => navigate(`/${withQuery({ q: onDay(q, week, name) })}`)}
            >
              <i class="filled" style={{ height: part(lost) }} />
            </button>
          </li>
        ))}
        {/* The highest bar's figure stands above them all. */}
        <li class="last" aria-hidden="true">
          {last !== most && (
            <b class="firm" style={{ bottom: part(last ?? 0) }}>
              {formatHoursCell(last, 0)}
            </b>
          )}
        </li>
      </ol>
      <div class="days-foot" aria-hidden="true">
        <span>{say.lastWeek}</span>
        <span>{say.thisWeek}</span>
      </div>
    </figure>
  )
}

/** One day at a time: choosing another day replaces it. */
function onDay(q: string, week: Week, day: string): string {
  const others = week.days.filter(each => each.day !== day).map(each => ofDay(each.day))
  const chosen = others.find(terms => terms.every(term => hasTerm(q, term)))
  return toggled(chosen ? toggled(q, chosen) : q, ofDay(day))
}
