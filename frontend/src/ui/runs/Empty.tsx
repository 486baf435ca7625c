/** In the place of runs: that there is none yet, or that none matches. */
import { formatClock, inZone } from '../../format'
import { withQuery } from '../../router'
import { service } from '../../store/connection'
import { listFilter } from '../../store/filter'
import { empty, runs as say } from '../../text/runs'
import { deleting, text } from '../../text/shared'
import { Snippet } from '../parts/CopyButton'
import { activeFilters } from './activeFilters'
import { SearchExamples } from './Filters'
import './NoMatch.css'

/** Where an agent sends to without a setting. */
const DEFAULT_URL = 'http://127.0.0.1:7077'

/** The commands that record one, with the address of this service, and the one that shows one. */
export function Empty() {
  const info = service.value
  const isElsewhere = info !== null && info.url.replace(/\/$/, '') !== DEFAULT_URL
  return (
    <div class="empty">
      <h1>{info?.project ? empty.titleOf(info.project) : empty.title}</h1>
      <p>{empty.lead}</p>
      {isElsewhere || info?.token_required ? (
        <>
          <p>{info.token_required ? empty.withToken : empty.elsewhere}</p>
          <Snippet code={empty.address(info)} />
        </>
      ) : (
        <Snippet code={empty.command} />
      )}
      <p>{empty.watch}</p>
      <Snippet code={text.snippet} />
      <p>{empty.demo}</p>
      <Snippet code={empty.demoCommand} />
      {info && (
        <p class="detail">{empty.listening(info.url, inZone(formatClock(new Date(info.started_at))))}</p>
      )}
    </div>
  )
}

/** The filters that apply, and a link without each of them. */
export function NoMatch() {
  const filter = listFilter.value
  const filters = activeFilters(filter)
  // "Deleted" is a filter of its own.
  const isNoneDeleted = filter.deleted && filters.length === 1
  return (
    <div class="no-match quiet">
      <p>
        {isNoneDeleted ? (
          deleting.none
        ) : (
          <>
            {say.noMatch}{' '}
            <b>{filters.map(({ words }) => words).join(' · ') || say.notArchived.toLowerCase()}</b>.
          </>
        )}
      </p>
      {filter.q && (
        <p class="detail">
          {say.searchWords} <SearchExamples />
        </p>
      )}
      <p class="no-match-ways">
        {filters.length > 1 &&
          filters.map(({ words, without }) => (
            <a key={words} class="button" href={`/${withQuery(without)}`}>
              {say.without} <b>{words}</b>
            </a>
          ))}
        <a class="button" href="/">
          {isNoneDeleted ? deleting.notDeleted : say.clear}
        </a>
      </p>
    </div>
  )
}
