/** Before runs are deleted: how many, until when that can be undone, and what stays. */
import type { RunSummary } from '../../api/schema'
import { formatHours } from '../../format'
import { keepDeletedUs, remove } from '../../store/actions'
import { hourNoun, deleting as say } from '../../text/shared'
import { FormDialog } from './Dialog'
import { useRuns } from './stores'

interface DeleteProps {
  runs: readonly RunSummary[]
  /** Called with the runs that were deleted, once they are. */
  onDeleted?(ids: readonly string[]): void
  onClose(): void
}

export function DeleteDialog({ runs: selected, onDeleted, onClose }: DeleteProps) {
  const runs = useRuns()
  // Those of a running run's next steps would be refused: the service does not delete it.
  const going = selected.filter(run => run.status === 'running')
  const ended = selected.filter(run => run.status !== 'running')
  const count = ended.length
  async function save(): Promise<void> {
    const done = await remove(
      runs,
      ended.map(run => run.run_id),
    )
    onDeleted?.(done)
  }
  return (
    <FormDialog
      title={say.title(count)}
      save={say.button(count)}
      canSave={count > 0}
      onSave={save}
      onClose={onClose}
    >
      {going.length > 0 && <p>{say.running(going.length)}</p>}
      {count > 0 && <p>{say.undo(count, keepDeletedUs())}</p>}
      {count > 0 && <p>{say.stays(count, lostBy(ended))}</p>}
    </FormDialog>
  )
}

/** `null`: nothing, or nothing was judged. */
function lostBy(runs: readonly RunSummary[]): string | null {
  const lost = runs.reduce((sum, run) => sum + (run.hours_lost ?? 0), 0)
  return lost > 0 ? formatHours(lost, hourNoun(runs.every(run => Boolean(run.gpus)))) : null
}
