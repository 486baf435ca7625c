/**
 * Which columns of the runs table a reader has chosen: kept by the browser, as they suit its screen, and in the address, so
 * that a link shows the same table. What the address names counts more, and is not kept.
 */
import { computed, signal } from '@preact/signals'
import { keep, recall } from '../kept'
import { navigate, route, withQuery } from '../router'

export const COLUMN_IDS = [
  ...(['status', 'verdict', 'wait', 'spark', 'lost', 'lostGpu', 'gain', 'step', 'rate', 'steps'] as const),
  ...(['ranks', 'gpus', 'gpu', 'workers', 'host', 'user', 'project', 'started'] as const),
]

const CONFIG = 'config:'
/** A value of the run’s configuration, by its key. */
export type ConfigColumn = `${typeof CONFIG}${string}`
export type ColumnId = (typeof COLUMN_IDS)[number] | ConfigColumn

const KEY = 'underfed-columns'
/** The service refuses more. */
const MOST_CONFIG = 50

const kept = signal(idsOf(recall(KEY)))

/** In the table’s order; `null`: as many as there is room for. */
export const chosen = computed<readonly ColumnId[] | null>(
  () => idsOf(route.value.query.get('columns')) ?? kept.value,
)

export function configColumn(key: string): ConfigColumn {
  return `${CONFIG}${key}`
}

/** `null`: not of the configuration. */
export function configKey(id: string): string | null {
  return id.startsWith(CONFIG) ? id.slice(CONFIG.length) : null
}

/** Of the columns that are shown, those of the configuration. */
export const configKeys = computed<readonly string[]>(() =>
  (chosen.value ?? []).flatMap(id => configKey(id) ?? []),
)

/** Commas part the columns: one in a key is written as in an address. */
function idsOf(written: string | null): readonly ColumnId[] | null {
  return written === null ? null : inOrder(written.split(',').map(decoded))
}

function decoded(written: string): string {
  try {
    return decodeURIComponent(written)
  } catch {
    return written // typed by hand
  }
}

function inOrder(names: readonly string[]): readonly ColumnId[] {
  const own = COLUMN_IDS.filter(id => names.includes(id))
  const config = [...new Set(names.flatMap(name => configKey(name) || []))].slice(0, MOST_CONFIG)
  return [...own, ...config.map(configColumn)]
}

export function chooseColumns(ids: readonly ColumnId[] | null): void {
  const next = ids && inOrder(ids)
  const written = next?.map(id => id.replaceAll(/[%,]/g, encodeURIComponent)).join()
  keep(KEY, written || null)
  kept.value = next
  navigate(location.pathname + withQuery({ columns: written ?? null }), 'replace')
}
