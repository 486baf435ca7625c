/** Fields that dialogs of alerts share. */

import { useSignal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import { get } from '../../api/client'
import { alerts as say } from '../../text/alerts'

/** Of the projects that have runs; empty: any. */
export function ProjectField({ label }: { label: string }) {
  const known = useSignal<readonly string[]>([])
  useEffect(() => {
    get('/api/v1/projects', {})
      .then(found => {
        known.value = found.map(each => each.project)
      })
      // It may be left at any.
      .catch(() => undefined)
  }, [known])
  return (
    <label>
      <span>{label}</span>
      <select class="field" name="project">
        <option value="">{say.newChannel.any}</option>
        {known.value.map(project => (
          <option key={project} value={project}>
            {project}
          </option>
        ))}
      </select>
    </label>
  )
}
