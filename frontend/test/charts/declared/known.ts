/** The metrics of the series API: the columns of the wire as its page names them, and what the service computes from them. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'

const ROOT = join(import.meta.dirname, '../../../..')

export function knownMetrics(): readonly string[] {
  const wire = readFileSync(join(ROOT, 'docs/wire.md'), 'utf8')
  const columns = [...wire.matchAll(/`([a-z0-9_]+)`/g)].map(([, name]) => name ?? '')
  return [
    ...columns,
    ...columns.map(name => `worker_${name}`),
    ...columns.map(name => `gpu_${name}`),
    ...computed(),
  ]
}

function computed(): readonly string[] {
  const described = readFileSync(join(ROOT, 'frontend/openapi.json'), 'utf8')
  const parameters = JSON.parse(described).paths['/api/v1/runs/{run_id}/series'].get.parameters
  const metric = parameters.find((parameter: { name: string }) => parameter.name === 'metric')
  return metric.description.match(/, or (.+?)\. /)[1].split(', ')
}
