/** Name, tags and notes of a run, as a person wants them. */
import { useSignal } from '@preact/signals'
import type { Run } from '../../api/names'
import { type Changes, edit } from '../../store/actions'
import { edit as say } from '../../text/run'
import { text } from '../../text/shared'
import { Dialog, Refusal, refusalOf } from '../parts/Dialog'
import { tagsOf, tagsText } from '../parts/tags'

export function EditDialog({ run, onClose }: { run: Run; onClose(): void }) {
  const refusal = useSignal<string | null>(null)

  async function save(event: SubmitEvent, close: () => void): Promise<void> {
    event.preventDefault()
    const form = new FormData(event.currentTarget as HTMLFormElement)
    const given = (name: string) => String(form.get(name)).trim()
    try {
      await edit(run.run_id, changed(run, given('name'), given('tags'), given('notes')))
      close()
    } catch (error) {
      refusal.value = refusalOf(error)
    }
  }
  return (
    <Dialog title={say.title} onClose={onClose}>
      {close => (
        <form class="dialog-form" onSubmit={event => void save(event, close)}>
          <label>
            {say.name} <input class="field" name="name" value={run.name} maxLength={500} />
          </label>
          <label>
            {say.tags} <input class="field" name="tags" value={tagsText(run.tags)} />
          </label>
          <label>
            {say.notes} <textarea class="field" name="notes" rows={5} value={run.notes} />
          </label>
          <Refusal why={refusal.value} />
          <p class="dialog-actions">
            <button type="submit" class="button primary">
              {text.save}
            </button>
            <button type="button" class="button" onClick={close}>
              {text.cancel}
            </button>
          </p>
        </form>
      )}
    </Dialog>
  )
}

/** What was left as it was stays the agent's to say; an emptied name is given back to it. */
function changed(run: Run, name: string, tags: string, notes: string): Changes {
  return {
    ...(name === run.name ? {} : { name: name || null }),
    ...(tags === tagsText(run.tags) ? {} : { tags: tagsOf(tags) }),
    ...(notes === run.notes ? {} : { notes }),
  }
}
