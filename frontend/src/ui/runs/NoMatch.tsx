/** Nothing was found: what was asked for, and each part of it that could be left out. */
import { withQuery } from '../../router'
import type { RunsQuery } from '../../store/query'
import { runs as say } from '../../text'
import { activeFilters } from './activeFilters'

export function NoMatch({ asking, query }: { asking: RunsQuery; query: URLSearchParams }) {
  const filters = activeFilters(asking)
  return (
    <div class="no-match">
      <p>
        {say.noMatch} <b>{filters.map(({ words }) => words).join(' · ') || say.notArchived.toLowerCase()}</b>.
      </p>
      <p class="no-match-ways">
        {filters.length > 1 &&
          filters.map(({ words, without }) => (
            <a key={words} class="button" href={`/${withQuery(query, without)}`}>
              {say.without} <b>{words}</b>
            </a>
          ))}
        <a class="button" href="/">
          {say.clear}
        </a>
      </p>
    </div>
  )
}
