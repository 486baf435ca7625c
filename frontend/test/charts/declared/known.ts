/** The metrics of the series API, as the service describes it. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'

export function knownMetrics(): readonly string[] {
  const described = readFileSync(join(import.meta.dirname, '../../../openapi.json'), 'utf8')
  const parameters = JSON.parse(described).paths['/api/v1/runs/{run_id}/series'].get.parameters
  const metric = parameters.find((parameter: { name: string }) => parameter.name === 'metric')
  return metric.description.replace('One or more of: ', '').split(', ')
}
