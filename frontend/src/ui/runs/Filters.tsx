/** Search and filters of the runs table; the address holds what is chosen. */
import { useSignal, useSignalEffect } from '@preact/signals'
import type { ComponentProps } from 'preact'
import { useEffect, useRef } from 'preact/hooks'
import { capital } from '../../format'
import { navigate, withQuery } from '../../router'
import { completions, isUnfinished } from '../../store/completions'
import { BOUNDS, listFilter, type RunsFilter, STATUSES } from '../../store/filter'
import { labelOf, labels } from '../../store/labels'
import { choosing, chosenIn } from '../../store/terms'
import { runs } from '../../text/runs'
import { Choice, Choices } from '../parts/Choice'
import { useRuns } from '../parts/stores'
import { activeFilters } from './activeFilters'
import { ColumnsMenu } from './ColumnsMenu'
import { ListMenus, MoreMenu } from './ListMenus'
import './Filters.css'

/** Typing pauses this long before the service is asked. */
const TYPING_MS = 200
/** As ages of the search language. */
const TIMES: readonly string[] = ['1d', '7d', '30d']

export function Filters() {
  const filter = listFilter.value
  const { choices } = useRuns()
  const { hosts, projects, tags, users } = choices.value
  const set = (changes: Record<string, string | null>, how: 'push' | 'replace' = 'push') =>
    navigate(`/${withQuery(changes)}`, how)
  const term = (key: string, operator?: string) => (value: string | null) =>
    set({ q: choosing(filter.q, key, value, operator) })
  const put = (key: string) => (value: string | null) => set({ [key]: value })
  const bounds = BOUNDS.map(bound => [bound, capital(labelOf('bound', bound))] as const)
  const times = TIMES.map(time => [time, capital(runs.times[time] ?? time)] as const)
  const menus = [
    [runs.verdictLabel, filter.bound, bounds, put('bound')],
    [runs.columns.user, chosenIn(filter.q, 'user'), named(users), term('user')],
    [runs.columns.host, chosenIn(filter.q, 'host'), named(hosts), term('host')],
    [runs.tagLabel, filter.tag, named(tags), put('tag')],
    [runs.projectLabel, filter.project, named(projects), put('project')],
    [runs.timeLabel, timeIn(filter.q), times, term('seen', '<')],
  ] as const
  return (
    <search class="filters row screen-only">
      <SearchField asked={filter.q} onSearch={q => set({ q }, 'replace')} />
      <Choices
        label={runs.statusGroup}
        value={filter.status}
        options={[null, ...STATUSES].map(status => [status, <StatusName key="name" status={status} />])}
        onChoose={status => set({ status })}
      />
      {menus.map(([label, value, options, onChoose]) => (
        <Offered key={label} label={label} value={value} options={options} onChoose={onChoose} />
      ))}
      <div class="filters-end row">
        <Count />
        <ListMenus />
        <ColumnsMenu />
        <MoreMenu />
      </div>
      <Chips />
      <Refused />
    </search>
  )
}

function timeIn(q: string): string | null {
  const time = chosenIn(q, 'seen', '<')
  return time !== null && TIMES.includes(time) ? time : null
}

const named = (names: readonly string[]) => names.map(name => [name, name] as const)

/** Hidden where there is only one choice, unless it was chosen already. */
function Offered({ label, value, options, onChoose }: ComponentProps<typeof Choice>) {
  const isOffered = value === null || options.some(([one]) => one === value)
  const all = isOffered ? options : [[value, value] as const, ...options]
  if (all.length < 2 && value === null) return null
  return <Choice label={label} any={label} value={value} options={all} onChoose={onChoose} />
}

function Chips() {
  const filters = activeFilters(listFilter.value).filter(({ hasControl }) => !hasControl)
  if (filters.length === 0) return null
  return (
    <ul class="chips" aria-label={runs.chips}>
      {filters.map(({ words, without }) => (
        <li key={words}>
          <button
            type="button"
            class="chip"
            aria-label={runs.removeFilter(words)}
            onClick={() => navigate(`/${withQuery(without)}`)}
          >
            {words} <span aria-hidden="true">×</span>
          </button>
        </li>
      ))}
    </ul>
  )
}

/** What the service did not understand, with the place marked. */
function Refused() {
  const { q } = listFilter.value
  const why = useRuns().refusal.value
  const at = Number(why?.match(/character (\d+)/)?.[1] ?? 0) - 1
  const [, before = '', place = '', after = ''] =
    at >= 0 ? [q, q.slice(0, at), ...splitTerm(q.slice(at))] : []
  return (
    <p class="search-refused" id="search-refused" role="alert" hidden={why === null}>
      {why && runs.searchRefused(why)}
      {why && at >= 0 && (
        <code class="quiet">
          {before}
          <mark>{place || ' '}</mark>
          {after}
        </code>
      )}
      {why && <SearchExamples />}
    </p>
  )
}

/** Searches that work, to start from. */
export function SearchExamples() {
  return (
    <span class="search-examples">
      {runs.searchHelp}{' '}
      {runs.searchExamples.map(example => (
        <a key={example} class="tag" href={`/?${new URLSearchParams({ q: example })}`}>
          {example}
        </a>
      ))}
    </span>
  )
}

function splitTerm(rest: string): [string, string] {
  const place = rest.match(/^\S*/)?.[0] ?? ''
  return [place, rest.slice(place.length)]
}

function SearchField({ asked, onSearch }: { asked: string; onSearch(q: string): void }) {
  const { choices, refusal } = useRuns()
  const typed = useSignal(asked)
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined)
  useEffect(() => {
    // What is being typed may end in a space that the address does not have.
    if (typed.value.trim() !== asked) typed.value = asked
  }, [asked, typed])
  useEffect(() => () => clearTimeout(timer.current), [])

  function onInput(value: string): void {
    typed.value = value
    clearTimeout(timer.current)
    if (!isUnfinished(value)) timer.current = setTimeout(() => onSearch(value.trim()), TYPING_MS)
  }
  /** Enter asks at once, and says what is missing. */
  function onKeyDown(event: KeyboardEvent & { currentTarget: HTMLInputElement }): void {
    if (event.key === 'Escape' && typed.value === '') event.currentTarget.blur()
    if (event.key !== 'Enter') return
    clearTimeout(timer.current)
    onSearch(typed.value.trim())
  }
  return (
    <div class="search framed">
      <input
        type="search"
        aria-label={runs.searchLabel}
        placeholder={runs.searchHint}
        value={typed.value}
        list="search-terms"
        maxLength={2_000}
        spellcheck={false}
        autocomplete="off"
        {...(refusal.value ? { 'aria-invalid': true, 'aria-describedby': 'search-refused' } : {})}
        onInput={event => onInput(event.currentTarget.value)}
        onKeyDown={onKeyDown}
      />
      <datalist id="search-terms">
        {completions(typed.value, { ...choices.value, causes: Object.keys(labels('cause')) }).map(
          expression => (
            <option key={expression} value={expression} />
          ),
        )}
      </datalist>
      <kbd class="wide-only">/</kbd>
    </div>
  )
}

function StatusName({ status }: Pick<RunsFilter, 'status'>) {
  const counts = useRuns().counts.value
  return (
    <>
      {status === null ? runs.all : capital(labelOf('status', status))}{' '}
      {counts && <small class="wide-only">{counts[status ?? 'all'].toLocaleString('en')}</small>}
    </>
  )
}

/** Announced to screen readers when the filter changes, not when a run is updated. */
function Count() {
  const { counts, total } = useRuns()
  const said = useSignal('')
  useSignalEffect(() => {
    const { status, archived, deleted } = listFilter.value
    const found = counts.value?.[status ?? 'all']
    said.value = found === undefined ? '' : runs.count(found, archived || deleted ? null : total.value)
  })
  return (
    <span class="count detail" role="status">
      {said.value}
    </span>
  )
}
