/** All runs: what the week lost to waiting, and the table that says where. */
import { useEffect, useLayoutEffect, useMemo } from 'preact/hooks'
import { navigate } from '../router'
import { bind } from '../shortcuts'
import { follow } from '../store/connection'
import { isFiltered, parseQuery, type RunsQuery } from '../store/query'
import {
  catchUp,
  counts,
  isLoaded,
  load,
  onEvent,
  order,
  projects,
  readChoices,
  refusal,
  trouble,
  week,
} from '../store/runs'
import { runs, text } from '../text'
import { TroubleBanner } from '../ui/parts/Banner'
import { searchRuns } from '../ui/parts/searchRuns'
import { Empty } from '../ui/runs/Empty'
import { Filters } from '../ui/runs/Filters'
import { NoMatch } from '../ui/runs/NoMatch'
import { RunsSkeleton } from '../ui/runs/RunsSkeleton'
import { RunsTable } from '../ui/runs/RunsTable'
import { SelectionBar } from '../ui/runs/SelectionBar'
import { WeekHead } from '../ui/runs/WeekHead'

export function RunsPage({ query }: { query: URLSearchParams }) {
  const key = query.toString()
  const asking = useMemo(() => parseQuery(new URLSearchParams(key)), [key])

  useEffect(() => {
    document.title = `${text.runs} · ${text.product}`
    void readChoices()
    return follow(['runs'], onEvent, catchUp)
  }, [])
  useEffect(() => void load(asking), [asking])
  useLayoutEffect(
    () => bind({ '/': searchRuns, Escape: () => isFiltered(asking) && navigate('/') }),
    [asking],
  )

  const isEmpty = isLoaded.value && order.value.length === 0
  // Where all were put away, the filters are the way to them.
  const hasNone = counts.value?.all === 0 && projects.value.length === 0
  if (isEmpty && !isFiltered(asking) && hasNone) return <Empty />
  return (
    <>
      {trouble.value && <TroubleBanner what={runs.list} error={trouble.value} />}
      {week.value && <WeekHead week={week.value} query={query} />}
      <Filters asking={asking} query={query} />
      <SelectionBar asking={asking} />
      <List asking={asking} query={query} isEmpty={isEmpty} />
    </>
  )
}

function List({ asking, query, isEmpty }: { asking: RunsQuery; query: URLSearchParams; isEmpty: boolean }) {
  if (!isLoaded.value) return trouble.value || refusal.value ? null : <RunsSkeleton />
  return isEmpty ? <NoMatch asking={asking} query={query} /> : <RunsTable asking={asking} query={query} />
}
