/** What makes a list out of runs: grouped by job or not, and lists that were given a name. */
import { navigate, withQuery } from '../../router'
import { listMenus as say } from '../../text/runs'
import { Button } from '../parts/Button'
import { onDemand } from '../parts/onDemand'
import { Popover } from '../parts/Popover'

const Views = onDemand(async () => (await import('./Views')).Views)

export const isByJob = (query: URLSearchParams) => query.get('group') === 'job'

export function ListMenus({ query }: { query: URLSearchParams }) {
  const byJob = isByJob(query)
  // What runs are sorted by is not always what jobs are.
  const group = () => navigate(`/${withQuery(query, { group: byJob ? null : 'job', sort: null })}`)
  return (
    <>
      {query.get('deleted') !== 'true' && (
        <Button aria-pressed={byJob} onClick={group}>
          {say.byJob}
        </Button>
      )}
      <Popover label={say.views} kind="sheet" isLazy>
        {close => <Views query={query} close={close} />}
      </Popover>
    </>
  )
}
