/** Search and filters of the runs table; what is chosen stands in the address. */
import { useSignal, useSignalEffect } from '@preact/signals'
import { useEffect, useRef } from 'preact/hooks'
import type { StatusCounts } from '../../api/names'
import { capital } from '../../format'
import { navigate, withQuery } from '../../router'
import { completions, isUnfinished } from '../../store/completions'
import { BOUNDS, type RunsFilter, STATUSES } from '../../store/filter'
import { labelOf, labels } from '../../store/labels'
import { choosing, chosenIn } from '../../store/terms'
import { runs } from '../../text/runs'
import { Choice } from '../parts/Choice'
import { useRuns } from '../parts/stores'
import { activeFilters } from './activeFilters'
import { ColumnsMenu } from './ColumnsMenu'
import { MoreMenu } from './MoreMenu'
import './Filters.css'

/** Typing pauses this long before the service is asked. */
const TYPING_MS = 200
/** As ages of the search language. */
const TIMES: readonly string[] = ['1d', '7d', '30d']

interface FilterProps {
  filter: RunsFilter
  query: URLSearchParams
}

export function Filters({ filter, query }: FilterProps) {
  const { choices, counts } = useRuns()
  const { hosts, projects, tags, users } = choices.value
  const set = (changes: Record<string, string | null>, how: 'push' | 'replace' = 'push') =>
    navigate(`/${withQuery(query, changes)}`, how)
  const term = (key: string, operator?: string) => (value: string | null) =>
    set({ q: choosing(filter.q, key, value, operator) })
  return (
    <search class="filters screen-only">
      <SearchField asked={filter.q} onSearch={q => set({ q }, 'replace')} />
      <StatusChoice chosen={filter.status} counts={counts.value} onChoose={status => set({ status })} />
      <Choice
        label={runs.verdictLabel}
        any={runs.verdictLabel}
        value={filter.bound}
        options={BOUNDS.map(bound => [bound, capital(labelOf('bound', bound))])}
        onChoose={bound => set({ bound })}
      />
      <NameChoice
        label={runs.columns.user}
        value={chosenIn(filter.q, 'user')}
        names={users}
        onChoose={term('user')}
      />
      <NameChoice
        label={runs.columns.host}
        value={chosenIn(filter.q, 'host')}
        names={hosts}
        onChoose={term('host')}
      />
      <NameChoice label={runs.tagLabel} value={filter.tag} names={tags} onChoose={tag => set({ tag })} />
      <NameChoice
        label={runs.projectLabel}
        value={filter.project}
        names={projects}
        onChoose={project => set({ project })}
      />
      <Choice
        label={runs.timeLabel}
        any={runs.timeLabel}
        value={timeIn(filter.q)}
        options={TIMES.map(time => [time, capital(runs.times[time] ?? time)])}
        onChoose={term('seen', '<')}
      />
      <div class="filters-end">
        <Count filter={filter} />
        <ColumnsMenu />
        <MoreMenu filter={filter} onArchived={archived => set({ archived })} />
      </div>
      <Chips filter={filter} onRemove={set} />
      <Refused q={filter.q} />
    </search>
  )
}

function timeIn(q: string): string | null {
  const time = chosenIn(q, 'seen', '<')
  return time !== null && TIMES.includes(time) ? time : null
}

interface NameChoiceProps {
  label: string
  value: string | null
  names: readonly string[]
  onChoose(name: string | null): void
}

/** Of one name there is nothing to choose, unless it was chosen already. */
function NameChoice({ label, value, names, onChoose }: NameChoiceProps) {
  const all = value === null || names.includes(value) ? names : [value, ...names]
  if (all.length < 2 && value === null) return null
  return (
    <Choice
      label={label}
      any={label}
      value={value}
      options={all.map(name => [name, name])}
      onChoose={onChoose}
    />
  )
}

interface ChipsProps {
  filter: RunsFilter
  onRemove(without: Record<string, string | null>): void
}

function Chips({ filter, onRemove }: ChipsProps) {
  const filters = activeFilters(filter).filter(({ hasControl }) => !hasControl)
  if (filters.length === 0) return null
  return (
    <ul class="chips" aria-label={runs.chips}>
      {filters.map(({ words, without }) => (
        <li key={words}>
          <button
            type="button"
            class="chip"
            aria-label={runs.removeFilter(words)}
            onClick={() => onRemove(without)}
          >
            {words} <span aria-hidden="true">×</span>
          </button>
        </li>
      ))}
    </ul>
  )
}

/** What the service did not understand, with the place marked. */
function Refused({ q }: { q: string }) {
  const why = useRuns().refusal.value
  const at = Number(why?.match(/character (\d+)/)?.[1] ?? 0) - 1
  const [, before = '', place = '', after = ''] =
    at >= 0 ? [q, q.slice(0, at), ...splitTerm(q.slice(at))] : []
  return (
    <p class="search-refused" id="search-refused" role="alert" hidden={why === null}>
      {why && runs.searchRefused(why)}
      {why && at >= 0 && (
        <code>
          {before}
          <mark>{place || ' '}</mark>
          {after}
        </code>
      )}
    </p>
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
    <div class="search">
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
      <kbd>/</kbd>
    </div>
  )
}

interface StatusChoiceProps {
  chosen: RunsFilter['status']
  counts: StatusCounts | null
  onChoose(status: RunsFilter['status']): void
}

function StatusChoice({ chosen, counts, onChoose }: StatusChoiceProps) {
  const options = [null, ...STATUSES] as const
  return (
    <fieldset class="choices">
      <legend class="visually-hidden">{runs.statusGroup}</legend>
      {options.map(status => (
        <button
          key={status ?? 'all'}
          type="button"
          aria-pressed={chosen === status}
          onClick={() => onChoose(status)}
        >
          {status === null ? runs.all : capital(labelOf('status', status))}{' '}
          {counts && <small>{counts[status ?? 'all'].toLocaleString('en')}</small>}
        </button>
      ))}
    </fieldset>
  )
}

/** Said to a screen reader when the filter changes, not when a run ticks. */
function Count({ filter }: { filter: RunsFilter }) {
  const { counts, overall } = useRuns()
  const said = useSignal('')
  useSignalEffect(() => {
    const found = counts.value?.[filter.status ?? 'all']
    const total = overall.value?.total ?? null
    said.value = found === undefined ? '' : runs.count(found, filter.archived ? null : total)
  })
  return (
    <span class="count detail" role="status">
      {said.value}
    </span>
  )
}
