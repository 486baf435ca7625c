/** What each panel of a host draws, from its history: columns of figures in, descriptions of charts out. */
import type { HostHistory } from '../../api/names'
import type { Layer, TimePanel } from '../../charts/panel'
import { bytesUnit, formatBytes, formatFraction, formatNumber, formatRate } from '../../format'
import { bucketAt, type Column, last } from '../../store/columns'
import { hostPanels as say } from '../../text/charts'

export interface HostCharts {
  atS: readonly number[]
  fromS: number
  toS: number
  cores: TimePanel | null
  memory: TimePanel | null
  disk: TimePanel | null
  network: TimePanel | null
  /** Every figure, for the table and the file. */
  columns: readonly HostColumn[]
  /** Of the ticks of a chart of rates. */
  unit: Readonly<Record<'disk' | 'network', string>>
  /** The newest interval in which anything was measured. */
  newest: number
  missing(chart: 'cores' | 'memory' | 'disk' | 'network'): string
}

export interface HostColumn {
  metric: string
  values: Column
  format(value: number | null): string
}

/** How instants are told: by the clock, or since a run's start. */
export interface Axis {
  /** Milliseconds at which the axis reads 0. */
  originMs: number
  tick?: (atS: number) => string
}

export function hostCharts(history: HostHistory, axis: Axis): HostCharts {
  const start = (Date.parse(history.from_at) - axis.originMs) / 1_000
  const values = (metric: string) => seriesOf(history, metric)?.values ?? []
  const stepS = history.bucket_us / 1e6
  const atS = values('own_cores').map((_, index) => start + index * stepS)
  const shared = {
    fromS: start,
    toS: start + atS.length * stepS,
    atS,
    topLabel: null,
    startLabel: say.start,
    marks: [],
    ...(axis.tick ? { timeTick: axis.tick } : {}),
  }
  const pair = (solid: string, dashed: string, names: readonly [string, string]) =>
    flows(shared, values(solid), values(dashed), names)
  const [memory, shm] = [
    share(values('memory_used_bytes'), history.memory_limit_bytes),
    share(values('shm_used_bytes'), history.shm_total_bytes),
  ]
  return {
    ...shared,
    cores: coresPanel(shared, values('own_cores'), values('other_cores'), history.usable_cores),
    memory:
      isEmpty(memory) && isEmpty(shm)
        ? null
        : {
            ...shared,
            height: 96,
            isOverlaid: true,
            hasTimeLabels: false,
            layers: lines(memory, shm, [say.solid.memory, say.dashed.memory]),
            top: 1,
            ticks: [0, 0.5, 1],
            tick: value => formatFraction(value),
          },
    disk: pair('disk_read_bytes_per_s', 'disk_written_bytes_per_s', [say.solid.disk, say.dashed.disk]),
    network: pair('network_received_bytes_per_s', 'network_sent_bytes_per_s', [
      say.solid.network,
      say.dashed.network,
    ]),
    columns: history.series.map(({ metric, unit, values }) => ({
      metric,
      values,
      format: unit === 'cores' ? cores : unit === 'bytes' ? formatBytes : formatRate,
    })),
    unit: {
      disk: unitOf(values('disk_read_bytes_per_s'), values('disk_written_bytes_per_s')),
      network: unitOf(values('network_received_bytes_per_s'), values('network_sent_bytes_per_s')),
    },
    newest: Math.max(
      0,
      ...history.series.map(series => series.values.findLastIndex(value => value !== null)),
    ),
    missing: chart => seriesOf(history, FIRST[chart])?.missing ?? '',
  }
}

function unitOf(solid: Column, dashed: Column): string {
  return rateScale([...solid, ...dashed]).unit
}

const FIRST = {
  cores: 'own_cores',
  memory: 'memory_used_bytes',
  disk: 'disk_read_bytes_per_s',
  network: 'network_received_bytes_per_s',
}

type Shared = Omit<TimePanel, 'height' | 'layers' | 'top' | 'ticks' | 'tick' | 'hasTimeLabels' | 'isOverlaid'>

function coresPanel(shared: Shared, own: Column, others: Column, usable: number | null): TimePanel | null {
  if (isEmpty(own)) return null
  const busy = own.map((value, index) => {
    const more = others[index] ?? null
    return value === null || more === null ? null : value + more
  })
  return {
    ...shared,
    height: 168,
    hasTimeLabels: true,
    layers: [
      {
        values: busy,
        stroke: 'load-runqueue',
        fill: 'load-blocked',
        label: say.others,
        labelColour: 'ink-2',
      },
      { values: own, stroke: 'compute', fill: 'compute-fill', label: say.own, labelColour: 'compute' },
    ],
    top: Math.max(usable ?? 0, ...busy.map(value => value ?? 0), 1),
    ticks: usable === null ? null : [0, usable / 2, usable],
    tick: formatNumber,
  }
}

function flows(
  shared: Shared,
  solid: Column,
  dashed: Column,
  names: readonly [string, string],
): TimePanel | null {
  if (isEmpty(solid) && isEmpty(dashed)) return null
  const { top, divisor } = rateScale([...solid, ...dashed])
  return {
    ...shared,
    height: 96,
    isOverlaid: true,
    hasTimeLabels: false,
    layers: lines(solid, dashed, names),
    top,
    ticks: [0, top / 2, top],
    tick: value => formatNumber(value / divisor),
  }
}

/** A round top above all rates, in the unit that suits it. */
export function rateScale(rates: Column): { top: number; divisor: number; unit: string } {
  const most = Math.max(1, ...rates.map(rate => rate ?? 0))
  const [divisor, unit] = bytesUnit(most)
  const power = 10 ** Math.floor(Math.log10(most / divisor))
  const round = [1, 2, 5, 10].find(factor => factor * power * divisor >= most) ?? 10
  return { top: round * power * divisor, divisor, unit }
}

function lines(solid: Column, dashed: Column, names: readonly [string, string]): readonly Layer[] {
  const shared = { fill: null, stroke: 'compute', labelColour: 'compute' } as const
  const quiet = { fill: null, stroke: 'ink-2', labelColour: 'ink-2', isDashed: true } as const
  return [
    { ...shared, values: solid, label: names[0] },
    { ...quiet, values: dashed, label: names[1] },
  ]
}

/** What the crosshair stands on, in one line. */
export function readHostAt(charts: HostCharts, atS: number, tell: (atS: number) => string): string {
  const index = bucketAt(charts.atS, atS)
  const told = charts.columns.map(({ metric, values, format }) => {
    const value = index === null ? null : (values[index] ?? null)
    return value === null ? null : `${spoken(metric)} ${format(value)}`
  })
  return [tell(atS), ...told].filter(Boolean).join(' · ')
}

/** `disk_read_bytes_per_s` → `disk read`: its unit is told by its figure. */
export function spoken(metric: string): string {
  return metric.replace(/(_used)?_bytes(_per_s)?$/, '').replaceAll('_', ' ')
}

function cores(value: number | null): string {
  return value === null ? formatNumber(null) : formatNumber(Number(value.toFixed(1)))
}

function seriesOf(history: HostHistory, metric: string) {
  return history.series.find(series => series.metric === metric)
}

function share(values: Column, whole: number | null): Column {
  return values.map(value => (value === null || !whole ? null : value / whole))
}

function isEmpty(column: Column): boolean {
  return last(column) === null
}
