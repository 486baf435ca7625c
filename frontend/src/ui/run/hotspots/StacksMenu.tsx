/** All stacks of a run, of all its loaders and ranks, for other programs. */
import { address } from '../../../api/client'
import { hotspots as say } from '../../../text/hotspots'
import { Menu } from '../../parts/Menu'

interface StacksMenuProps {
  runId: string
  /** How often was looked, where that is too rarely for shares. */
  few?: string
}

export function StacksMenu({ runId, few }: StacksMenuProps) {
  const items = (['collapsed', 'speedscope'] as const).map(format => {
    const [label, detail] = say.formats[format]
    const asked = { path: { run_id: runId }, query: { format } }
    const href = address('/api/v1/runs/{run_id}/export', asked)
    return { label, detail: few ? say.fewLooks(few) : detail, href }
  })
  return <Menu label={say.export} title={`${say.export}: ${say.stacks}`} items={items} small />
}
