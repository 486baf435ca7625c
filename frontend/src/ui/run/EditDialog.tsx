/** Name, tags and notes of a run, as a person wants them. */
import { useSignal } from '@preact/signals'
import { useEffect, useRef } from 'preact/hooks'
import { NoAnswer, ServiceError } from '../../api/client'
import type { Run } from '../../api/names'
import { asSentence } from '../../format'
import { type Changes, edit } from '../../store/actions'
import { keeping, edit as say } from '../../text'
import { tagsOf, tagsText } from '../parts/tags'

export function EditDialog({ run, onClose }: { run: Run; onClose(): void }) {
  const dialog = useRef<HTMLDialogElement>(null)
  const trouble = useSignal<string | null>(null)
  useEffect(() => dialog.current?.showModal(), [])

  async function save(event: SubmitEvent): Promise<void> {
    event.preventDefault()
    const form = new FormData(event.currentTarget as HTMLFormElement)
    const given = (name: string) => String(form.get(name)).trim()
    try {
      await edit(run.run_id, changed(run, given('name'), given('tags'), given('notes')))
      dialog.current?.close()
    } catch (error) {
      if (!(error instanceof ServiceError || error instanceof NoAnswer)) throw error
      trouble.value = asSentence(error.message)
    }
  }
  return (
    <dialog ref={dialog} class="dialog edit" aria-labelledby="edit-title" onClose={onClose}>
      <h2 id="edit-title">{say.title}</h2>
      <form onSubmit={event => void save(event)}>
        <label>
          {say.name} <input name="name" value={run.name} maxLength={500} />
        </label>
        <label>
          {say.tags} <input name="tags" value={tagsText(run.tags)} />
        </label>
        <label>
          {say.notes} <textarea name="notes" rows={5} value={run.notes} />
        </label>
        {trouble.value && (
          <p class="missing" role="alert">
            {trouble.value}
          </p>
        )}
        <div class="keeping-actions">
          <button type="submit" class="button primary">
            {keeping.save}
          </button>
          <button type="button" class="button" onClick={() => dialog.current?.close()}>
            {keeping.cancel}
          </button>
        </div>
      </form>
    </dialog>
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
