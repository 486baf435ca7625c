/** All runs: what the week lost to waiting, and the table that says where. */
import { useEffect } from 'preact/hooks'
import { navigate } from '../router'
import { keepDeletedUs } from '../store/actions'
import { isFiltered, listFilter } from '../store/filter'
import { runs as say } from '../text/runs'
import { deleting, text } from '../text/shared'
import { TroubleBanner } from '../ui/parts/Banner'
import { Fence, onDemand } from '../ui/parts/onDemand'
import { usePage } from '../ui/parts/page'
import { useRuns } from '../ui/parts/stores'
import { Empty, NoMatch } from '../ui/runs/Empty'
import { Filters } from '../ui/runs/Filters'
import { isByJob } from '../ui/runs/ListMenus'
import { RunsSkeleton } from '../ui/runs/RunsSkeleton'
import { RunsTable } from '../ui/runs/RunsTable'
import { SelectionBar } from '../ui/runs/SelectionBar'
import { WeekHead } from '../ui/runs/WeekHead'

const JobsTable = onDemand(async () => (await import('../ui/runs/JobsTable')).JobsTable, <RunsSkeleton />)

export function RunsPage() {
  const runs = useRuns()
  const filter = listFilter.value
  useEffect(() => runs.follow(), [runs])
  useEffect(() => void runs.load(filter), [runs, filter])
  usePage(text.runs, { Escape: () => isFiltered(filter) && navigate('/') }, [filter])

  const isEmpty = runs.isLoaded.value && runs.order.value.length === 0
  // Where all runs were archived, the filters are the way to them.
  const week = runs.week.value
  const hasNone = runs.counts.value?.all === 0 && runs.choices.value.projects.length === 0
  // Where all runs were deleted, what they lost is still shown.
  if (isEmpty && !isFiltered(filter) && hasNone && !week?.hours_used) return <Empty />
  // The week stands above the filters, and would push them away.
  if (!week && !runs.trouble.value && runs.refusal.value === null) return <RunsSkeleton />
  return (
    <>
      {runs.trouble.value && <TroubleBanner what={say.list} error={runs.trouble.value} />}
      {filter.deleted ? (
        <div class="page-head">
          <h1 class="sentence">{deleting.list}</h1>
        </div>
      ) : (
        week && (
          <Fence>
            <WeekHead week={week} isOfAll={!isFiltered(filter)} />
          </Fence>
        )
      )}
      <Filters />
      <SelectionBar />
      {filter.deleted && <p class="detail deleted-lead">{deleting.lead(keepDeletedUs())}</p>}
      <Fence>
        <List isEmpty={isEmpty} />
      </Fence>
    </>
  )
}

function List({ isEmpty }: { isEmpty: boolean }) {
  const runs = useRuns()
  if (isByJob()) return <JobsTable />
  if (!runs.isLoaded.value) return runs.trouble.value || runs.refusal.value ? null : <RunsSkeleton />
  return isEmpty ? <NoMatch /> : <RunsTable />
}
