/** Name, tags and notes of a run, as a person wants them. */
import type { Run } from '../../api/schema'
import { type Changes, edit } from '../../store/actions'
import { edit as say } from '../../text/run'
import { FormDialog } from '../parts/Dialog'
import { Field } from '../parts/fields'
import { tagsOf, tagsText } from '../parts/tags'

/** Fields start with the run's values and are not updated: what is typed stays while the run goes on. */
export function EditDialog({ run, onClose }: { run: Run; onClose(): void }) {
  return (
    <FormDialog title={say.title} onSave={form => edit(run.run_id, changed(run, form))} onClose={onClose}>
      <Field label={say.name} name="name" defaultValue={run.name} maxLength={500} />
      <Field label={say.tags} name="tags" defaultValue={tagsText(run.tags)} />
      <label>
        {say.notes} <textarea class="field" name="notes" rows={5} defaultValue={run.notes} />
      </label>
    </FormDialog>
  )
}

/** Unchanged fields stay the agent's; an emptied name becomes the agent's again. */
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
