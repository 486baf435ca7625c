/** How long, how large and how exactly a project's single steps are stored. */
import { change, get } from '../api/client'
import type { ProjectRetention, RetentionWish } from '../api/schema'

/** Raises: ServiceError, NoAnswer. */
export function readRetention(project: string): Promise<ProjectRetention> {
  return get('/api/v1/projects/{project}/retention', { path: { project } })
}

/** Raises: ServiceError, NoAnswer. */
export function saveRetention(project: string, wish: RetentionWish): Promise<void> {
  return change('PUT', `/api/v1/projects/${encodeURIComponent(project)}/retention`, wish)
}
