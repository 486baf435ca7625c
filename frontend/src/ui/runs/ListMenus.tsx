/** What makes a list out of runs: grouped by job or not, and lists that were given a name. */
import { route } from '../../router'
import { listMenus as say } from '../../text/runs'
import { onDemand } from '../parts/onDemand'
import { Popover } from '../parts/Popover'

const Views = onDemand(async () => (await import('./Views')).Views)

export const isByJob = () => route.value.query.get('group') === 'job'

export function ListMenus() {
  return (
    <Popover label={isByJob() ? say.byJob : say.views} title={say.views} kind="sheet" isLazy>
      {close => <Views close={close} />}
    </Popover>
  )
}
