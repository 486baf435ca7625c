/** The figures behind the lines of compared runs. */
import type { Anatomy, ComparedRun } from '../../api/schema'
import { type FigureColumn, type Figures, figuresOf } from '../parts/figures'

const COLUMNS: readonly FigureColumn<ComparedRun>[] = [
  { name: 'run_id', label: 'Run', value: ({ run }) => run.run_id, format: ({ label }) => label },
  { name: 'speedup', label: 'Speed', unit: 'factor', value: ({ speed }) => speed?.factor ?? null },
  { name: 'low', label: '95 % from', unit: 'factor', value: ({ speed }) => speed?.low ?? null },
  { name: 'high', label: 'to', unit: 'factor', value: ({ speed }) => speed?.high ?? null },
  { name: 'steps_per_s', label: 'Steps/s', unit: 'per_s' },
  { name: 'samples_per_s', label: 'Samples/s', unit: 'per_s' },
  part('step_us', 'Mean step'),
  part('data_wait_us', 'Data wait'),
  part('h2d_exposed_us', 'Copy'),
  part('compute_us', 'Compute'),
]

type Part = 'step_us' | 'data_wait_us' | 'h2d_exposed_us' | 'compute_us'

function part(name: Part & keyof Anatomy, label: string): FigureColumn<ComparedRun> {
  return { name, label, unit: 'us', value: ({ anatomy }) => anatomy?.[name] ?? null }
}

export function speedFigures(runs: readonly ComparedRun[]): Figures {
  return figuresOf(COLUMNS, runs)
}
