/** The columns of the runs table: what each says of a run, how wide it is, and which of them there is room for. */
import type { ComponentChildren } from 'preact'
import type { RunSummary } from '../../api/schema'
import { formatAgeCell, formatDuration, formatHoursCell, formatNumber, NOT_MEASURED } from '../../format'
import { type ColumnId, configColumn, configKey } from '../../store/chosen'
import type { SortKey } from '../../store/order'
import type { RunsStore } from '../../store/runs'
import { runs as say } from '../../text/runs'
import { text } from '../../text/shared'
import { isEndUnknown } from '../../verdict'
import { StatusGlyph, VerdictWord } from '../parts/Glyph'
import { ageS, silentS } from '../parts/When'
import { ConfigCell, Gain, Spark, Started, Wait } from './cells'

export interface Column {
  id: ColumnId
  /** In pixels, its space to the next one with it. */
  width: number
  sort?: SortKey
  /** Figures are aligned right. */
  isFigure?: boolean
  cell(run: RunSummary): ComponentChildren
}

/** Hours from which a run's loss is set in bold: it is worth looking into. */
const HEAVY_HOURS = 20
/** What a name and a tag or two need at least; they get whatever the columns leave. */
export const NAME_PX = 280
export const TICK_PX = 30

const figure = (count: number | null) => count?.toLocaleString('en') ?? NOT_MEASURED

export const COLUMNS: readonly Column[] = [
  {
    id: 'status',
    width: 144,
    sort: 'status',
    cell: run => (
      <span class="with-glyph quiet">
        <StatusGlyph status={run.status} />
        {statusOf(run)} <span class="faint">{formatAgeCell(ageS(run))}</span>
      </span>
    ),
  },
  {
    id: 'verdict',
    width: 160,
    cell: run => (
      <div class="two-lines">
        <VerdictWord judged={run} class="verdict-word" />
        {run.cause_label && <small class="cut under-glyph">{run.cause_label}</small>}
      </div>
    ),
  },
  {
    id: 'wait',
    width: 136,
    sort: 'data_stall_fraction',
    cell: run => <Wait run={run} />,
  },
  { id: 'spark', width: 100, cell: run => <Spark values={run.spark} isLoud={isLosing(run)} /> },
  {
    id: 'lost',
    // As its head where all runs are on GPUs, with the arrow of the order.
    width: 150,
    sort: 'hours_lost',
    isFigure: true,
    cell: ({ hours_lost: hours }) => (
      <span class={(hours ?? 0) >= HEAVY_HOURS ? 'strong' : ''}>{formatHoursCell(hours)}</span>
    ),
  },
  {
    id: 'lostGpu',
    width: 150,
    isFigure: true,
    cell: ({ gpu_hours_lost: hours }) => formatHoursCell(hours),
  },
  { id: 'gain', width: 146, sort: 'predicted_speedup', isFigure: true, cell: run => <Gain run={run} /> },
  { id: 'step', width: 70, sort: 'step_us', isFigure: true, cell: run => formatDuration(run.step_us) },
  { id: 'rate', width: 82, isFigure: true, cell: run => formatNumber(run.samples_per_s) },
  { id: 'steps', width: 84, isFigure: true, cell: run => figure(run.steps) },
  { id: 'ranks', width: 54, isFigure: true, cell: run => figure(run.world_size) },
  { id: 'gpus', width: 50, isFigure: true, cell: run => figure(run.gpus) },
  { id: 'gpu', width: 150, cell: run => run.gpu_name ?? NOT_MEASURED },
  { id: 'workers', width: 66, isFigure: true, cell: run => figure(run.num_workers) },
  { id: 'host', width: 108, cell: run => hosts(run.hostnames) },
  { id: 'user', width: 66, cell: run => run.user },
  { id: 'project', width: 88, cell: run => run.project },
  {
    id: 'started',
    width: 116,
    sort: 'started_at',
    isFigure: true,
    cell: run => <Started run={run} />,
  },
]

/** Where room is short the last go first: what a run loses, and why, stays longest. */
const BY_WEIGHT: readonly ColumnId[] = [
  ...(['wait', 'verdict', 'lost', 'lostGpu', 'status', 'gain', 'gpus', 'spark', 'host', 'user'] as const),
  ...(['started', 'step', 'ranks', 'workers', 'project', 'rate'] as const),
]

/** Those that fit into `room` pixels beside a run's name. `isMixed`: some of the runs are on GPUs, and others are not. */
export function fitting(room: number, isMixed = false): readonly ColumnId[] {
  let left = room - TICK_PX - NAME_PX
  const wanted = BY_WEIGHT.filter(id => isMixed || id !== 'lostGpu')
  const first = wanted.findIndex(id => {
    left -= columnOf(id).width
    return left < 0
  })
  return first === -1 ? wanted : wanted.slice(0, first)
}

export function columnOf(id: ColumnId): Column {
  const key = configKey(id)
  return key === null ? (COLUMNS.find(column => column.id === id) as Column) : columnOfConfig(key)
}

function columnOfConfig(key: string): Column {
  const id = configColumn(key)
  return { id, width: 110, sort: id, isFigure: true, cell: run => <ConfigCell run={run} name={key} /> }
}

export function kindsOf({ order, rows }: RunsStore) {
  return kindsAmong(order.value.map(id => Boolean(rows.get(id)?.peek().gpus)))
}

/** Whether all that is listed ran on GPUs, or some did and others not. */
export function kindsAmong(onGpu: readonly boolean[]): { isGpu: boolean; isMixed: boolean } {
  const isGpu = onGpu.length > 0 && onGpu.every(Boolean)
  return { isGpu, isMixed: !isGpu && onGpu.some(Boolean) }
}

const isLosing = ({ status, bound }: RunSummary) => status === 'running' && bound === 'data'

/** Ended, out of reach, or not known which: three words. */
export function statusOf(run: RunSummary): string {
  return isEndUnknown(run, silentS(run)) ? text.endUnknown : run.status_label
}

/** `GPU time lost` only where all that is listed ran on GPUs. */
export function headOf(id: ColumnId, isGpu: boolean): string {
  if (id === 'lost' && isGpu) return say.columns.lostGpu
  return configKey(id) ?? say.columns[id as keyof typeof say.columns]
}

/** A cell has room for two; the run's own page names them all. */
function hosts(names: readonly string[]): string {
  const more = names.length - 2
  return names.slice(0, 2).join(', ') + (more > 0 ? ` +${more}` : '')
}
