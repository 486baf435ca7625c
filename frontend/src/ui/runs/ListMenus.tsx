/** What makes a list out of runs: grouped by job or not, and lists that were given a name. */
import { listMenus as say } from '../../text/runs'
import { onDemand } from '../parts/onDemand'
import { Popover } from '../parts/Popover'

const Views = onDemand(async () => (await import('./Views')).Views)

export const isByJob = (query: URLSearchParams) => query.get('group') === 'job'

export function ListMenus({ query }: { query: URLSearchParams }) {
  const byJob = isByJob(query)
  return (
    <Popover label={byJob ? say.byJob : say.views} title={say.views} kind="sheet" isLazy>
      {close => <Views query={query} byJob={byJob} close={close} />}
    </Popover>
  )
}
