/** Name, tags and notes of a run, as a person wants them. */
import type { Run } from '../../api/schema'
import { type Changes, edit } from '../../store/actions'
import { edit as say } from '../../text/run'
import { FormDialog } from '../parts/Dialog'
import { tagsOf, tagsText } from '../parts/tags'

/** What is typed stays while the run goes on: its fields begin with what the run has, and no more. */
export function EditDialog({ run, onClose }: { run: Run; onClose(): void }) {
  return (
    <FormDialog title={say.title} onSave={form => edit(run.run_id, changed(run, form))} onClose={onClose}>
      <label>
        {say.name} <input class="field" name="name" defaultValue={run.name} maxLength={500} />
      </label>
      <label>
        {say.tags} <input class="field" name="tags" defaultValue={tagsText(run.tags)} />
      </label>
      <label>
        {say.notes} <textarea class="field" name="notes" rows={5} defaultValue={run.notes} />
      </label>
    </FormDialog>
  )
}

/** What was left as it was stays the agent's to say; an emptied name is given back to it. */
function changed(run: Run, form: FormData): Changes {
  const [name = '', tags = '', notes = ''] = ['name', 'tags', 'notes'].map(key =>
    String(form.get(key)).trim(),
  )
  return {
    ...(name === run.name ? {} : { name: name || null }),
    ...(tags === tagsText(run.tags) ? {} : { tags: tagsOf(tags) }),
    ...(notes === run.notes ? {} : { notes }),
  }
}
