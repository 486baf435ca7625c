/** The filters that apply now, each in words and with the change of the address that removes it. */
import { formatWeekday } from '../../format'
import type { RunsFilter } from '../../store/filter'
import { labelOf } from '../../store/labels'
import { chosenIn, ofDay, type Term, termsOf, toggled } from '../../store/terms'
import { runs as say, week } from '../../text/runs'
import { deleting } from '../../text/shared'

export interface ActiveFilter {
  words: string
  /** Changes of the address that remove it. */
  without: Record<string, string | null>
  /** A field or a menu shows it already, and can remove it. */
  hasControl: boolean
}

/** Keys of the search that have a menu. */
const MENUS: Readonly<Record<string, string>> = { user: '=', host: '=', seen: '<' }

export function activeFilters(filter: RunsFilter): readonly ActiveFilter[] {
  const { status, bound, project, tag, archived, deleted } = filter
  return [
    ...ofSearch(filter.q),
    ...(status ? [{ words: labelOf('status', status), without: { status: null }, hasControl: true }] : []),
    ...(bound ? [{ words: labelOf('bound', bound), without: { bound: null }, hasControl: true }] : []),
    ...(project ? [{ words: project, without: { project: null }, hasControl: true }] : []),
    ...(tag ? [{ words: tag, without: { tag: null }, hasControl: true }] : []),
    ...(archived
      ? [{ words: say.archived[archived].toLowerCase(), without: { archived: null }, hasControl: false }]
      : []),
    ...(deleted ? [{ words: deleting.filter, without: { deleted: null }, hasControl: false }] : []),
  ]
}

function ofSearch(q: string): readonly ActiveFilter[] {
  const day = dayIn(q)
  const days: readonly string[] = day ? ofDay(day) : []
  const rest = termsOf(q).filter(({ written }) => !days.includes(written))
  return [
    ...(day
      ? [{ words: say.onDay(formatWeekday(day)), without: { q: toggled(q, days) }, hasControl: false }]
      : []),
    ...rest.map(term => ({
      words: wordsOf(term),
      without: { q: toggled(q, [term.written]) },
      hasControl: term.key === null || MENUS[term.key] === term.operator,
    })),
  ]
}

/** The UTC day of which both terms are there. */
export function dayIn(q: string): string | null {
  const day = chosenIn(q, 'started', '<=')
  return day !== null && /^\d{4}-\d\d-\d\d$/.test(day) && chosenIn(q, 'seen', '>=') === day ? day : null
}

function wordsOf({ key, operator, value, written }: Term): string {
  if (key === 'cause' && operator === ':') {
    const words = value.split(',').map(cause => (cause === 'none' ? week.noCause : labelOf('cause', cause)))
    return words.join(say.or)
  }
  if (key === 'seen' && operator === '<') return say.times[value] ?? written
  return written
}
