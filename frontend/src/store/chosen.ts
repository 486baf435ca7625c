/** Which columns of the runs table a reader has chosen: kept by the browser, as they suit its screen and not the runs. */
import { signal } from '@preact/signals'
import { keep, recall } from '../kept'

export const COLUMN_IDS = [
  ...(['status', 'verdict', 'wait', 'spark', 'lost', 'lostGpu', 'gain', 'step', 'rate', 'steps'] as const),
  ...(['ranks', 'gpus', 'gpu', 'workers', 'host', 'user', 'project', 'started'] as const),
]
export type ColumnId = (typeof COLUMN_IDS)[number]

const KEY = 'underfed-columns'

/** In the table's order; `null`: as many as there is room for. */
export const chosen = signal<readonly ColumnId[] | null>(stored())

function stored(): readonly ColumnId[] | null {
  const names = recall(KEY)?.split(',')
  return names ? COLUMN_IDS.filter(id => names.includes(id)) : null
}

export function chooseColumns(ids: readonly ColumnId[] | null): void {
  chosen.value = ids && COLUMN_IDS.filter(id => ids.includes(id))
  keep(KEY, chosen.value?.join() ?? null)
}
