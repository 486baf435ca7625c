/** No run matches: the filters that apply, and a link without each of them. */
import { withQuery } from '../../router'
import { listFilter } from '../../store/filter'
import { runs as say } from '../../text/runs'
import { deleting } from '../../text/shared'
import { activeFilters } from './activeFilters'
import { SearchExamples } from './Filters'
import './NoMatch.css'

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
