/** Search and filters of the runs table; what is chosen stands in the address. */
import { useSignal, useSignalEffect } from '@preact/signals'
import { useEffect, useRef } from 'preact/hooks'
import type { StatusCounts } from '../api/names'
import { capital } from '../format'
import { navigate, withQuery } from '../router'
import { completions, isUnfinished } from '../store/completions'
import { ARCHIVED, BOUNDS, type RunsQuery, STATUSES } from '../store/query'
import { counts, order, projects, refusal, users } from '../store/runs'
import { causeWord, runs, statusWord } from '../text'
import { verdictWord } from '../verdict'
import { Choice } from './Choice'
import { KeepingButton } from './KeepingDialog'

const CAUSES = Object.keys(causeWord)
/** Typing pauses this long before the service is asked. */
const TYPING_MS = 200

interface FilterProps {
  asking: RunsQuery
  query: URLSearchParams
}

export function Filters({ asking, query }: FilterProps) {
  const set = (changes: Record<string, string | null>, how: 'push' | 'replace' = 'push') =>
    navigate(`/${withQuery(query, changes)}`, how)
  const kept = asking.project ?? (projects.value.length === 1 ? projects.value[0] : null)
  return (
    <search class="filters">
      <SearchField asked={asking.q} onSearch={q => set({ q }, 'replace')} />
      <StatusChoice chosen={asking.status} counts={counts.value} onChoose={status => set({ status })} />
      <Choice
        label={runs.verdictLabel}
        any={runs.anyVerdict}
        value={asking.bound}
        options={BOUNDS.map(bound => [
          bound,
          capital(verdictWord({ bound, level: bound === 'compute' ? 'healthy' : 'bound' }, 'running')),
        ])}
        onChoose={bound => set({ bound })}
      />
      {(projects.value.length > 1 || asking.project) && (
        <Choice
          label={runs.projectLabel}
          any={runs.anyProject}
          value={asking.project}
          options={[...new Set([...projects.value, ...(asking.project ? [asking.project] : [])])].map(
            name => [name, name],
          )}
          onChoose={project => set({ project })}
        />
      )}
      {kept && <KeepingButton key={kept} project={kept} />}
      <Choice
        label={runs.archivedLabel}
        any={runs.notArchived}
        value={asking.archived}
        options={ARCHIVED.map(which => [which, runs.archived[which]])}
        onChoose={archived => set({ archived })}
      />
      {asking.tag && (
        <button
          type="button"
          class="chip"
          aria-label={runs.removeTag(asking.tag)}
          onClick={() => set({ tag: null })}
        >
          {asking.tag} <span aria-hidden="true">×</span>
        </button>
      )}
      <Count asking={asking} />
      <p class="search-refused" id="search-refused" role="alert" hidden={refusal.value === null}>
        {refusal.value && runs.searchRefused(refusal.value)}
      </p>
    </search>
  )
}

function SearchField({ asked, onSearch }: { asked: string; onSearch(q: string): void }) {
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
  const choices = { projects: projects.value, users: users.value, causes: CAUSES }
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
        {completions(typed.value, choices).map(expression => (
          <option key={expression} value={expression} />
        ))}
      </datalist>
      <kbd>/</kbd>
    </div>
  )
}

interface StatusChoiceProps {
  chosen: RunsQuery['status']
  counts: StatusCounts | null
  onChoose(status: RunsQuery['status']): void
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
          {status === null ? runs.all : capital(statusWord[status])}{' '}
          {counts && <small>{counts[status ?? 'all'].toLocaleString('en')}</small>}
        </button>
      ))}
    </fieldset>
  )
}

/** Said to a screen reader when the filter changes, not when a run ticks. */
function Count({ asking }: { asking: RunsQuery }) {
  const said = useSignal('')
  useSignalEffect(() => {
    const all = counts.value?.[asking.status ?? 'all']
    said.value = all === undefined ? '' : runs.count(order.value.length, all)
  })
  return (
    <span class="count" role="status">
      {said.value}
    </span>
  )
}
