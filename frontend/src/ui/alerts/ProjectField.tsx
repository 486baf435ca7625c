/** Of the projects that have runs one, or any: it is left at that where they cannot be read. */
import { get } from '../../api/client'
import { alerts as say } from '../../text/alerts'
import { SelectField } from '../parts/fields'
import { useAnswer } from '../parts/stores'

export function ProjectField({ label }: { label: string }) {
  const known = useAnswer(stop => get('/api/v1/projects', {}, stop)).value ?? []
  const options = known.map(({ project }) => [project, project] as const)
  return <SelectField label={label} name="project" options={[['', say.newChannel.any], ...options]} />
}
