/** The figures behind the lines of compared runs. */
import type { Anatomy, ComparedRun } from '../../api/schema'
import { compare as say } from '../../text/compare'
import { type FigureColumn, type Figures, figuresOf } from '../parts/figures'

const [RUN, SPEED, LOW, HIGH, STEPS, SAMPLES, STEP, WAIT, COPY, COMPUTE] = say.figures

const COLUMNS: readonly FigureColumn<ComparedRun>[] = [
  { name: 'run_id', label: RUN, value: ({ run }) => run.run_id, format: ({ label }) => label },
  { name: 'speedup', label: SPEED, unit: 'factor', value: ({ speed }) => speed?.factor ?? null },
  { name: 'low', label: LOW, unit: 'factor', value: ({ speed }) => speed?.low ?? null },
  { name: 'high', label: HIGH, unit: 'factor', value: ({ speed }) => speed?.high ?? null },
  { name: 'steps_per_s', label: STEPS, unit: 'per_s' },
  { name: 'samples_per_s', label: SAMPLES, unit: 'per_s' },
  part('step_us', STEP),
  part('data_wait_us', WAIT),
  part('h2d_exposed_us', COPY),
  part('compute_us', COMPUTE),
]

type Part = 'step_us' | 'data_wait_us' | 'h2d_exposed_us' | 'compute_us'

function part(name: Part & keyof Anatomy, label: string | undefined): FigureColumn<ComparedRun> {
  return { name, label, unit: 'us', value: ({ anatomy }) => anatomy?.[name] ?? null }
}

export function speedFigures(runs: readonly ComparedRun[]): Figures {
  return figuresOf(COLUMNS, runs)
}
