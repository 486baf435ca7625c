/** The charts of a host over time, each declared once: who kept its cores busy, its memory, its disks, its networks. */
import type { HostHistory } from '../../api/names'
import { formatBytes, formatNumber } from '../../format'
import { type Axis, timeAxis } from '../axes'
import { highest } from '../columns'
import { bytesScale } from '../units'
import { type Declared, type DeclaredLine, type Quantity, type ShownChart, shownChart } from './declaration'

const HOST_CHARTS: readonly Declared<HostHistory>[] = [
  {
    title: 'Cores in use',
    detail: ({ usable_cores }) =>
      usable_cores === null ? '' : `of ${formatNumber(usable_cores)} that runs may use`,
    height: 168,
    isStacked: true,
    isLabelled: true,
    top: history => history.usable_cores,
    lines: [
      {
        metric: 'other_cores',
        label: 'other cores',
        name: 'others',
        nameColour: 'ink-2',
        stroke: 'load-runqueue',
        fill: 'load-blocked',
        isOptional: true,
      },
      { metric: 'own_cores', label: 'own cores', name: 'runs', stroke: 'compute', fill: 'compute-fill' },
    ],
  },
  pair(
    'Memory and /dev/shm',
    ({ memory_limit_bytes, shm_total_bytes }) =>
      `of ${formatBytes(memory_limit_bytes)} and of ${formatBytes(shm_total_bytes)}`,
    { metric: 'memory_used_bytes', label: 'memory', name: 'memory', whole: host => host.memory_limit_bytes },
    { metric: 'shm_used_bytes', label: 'shm', name: 'shm', whole: host => host.shm_total_bytes },
  ),
  rates(
    'Disks',
    { metric: 'disk_read_bytes_per_s', label: 'disk read', name: 'read' },
    { metric: 'disk_written_bytes_per_s', label: 'disk written', name: 'written' },
  ),
  rates(
    'Networks',
    { metric: 'network_received_bytes_per_s', label: 'network received', name: 'received' },
    { metric: 'network_sent_bytes_per_s', label: 'network sent', name: 'sent' },
  ),
]

/** A solid line and a dashed one. */
function pair(
  title: string,
  detail: (history: HostHistory) => string,
  solid: DeclaredLine<HostHistory>,
  dashed: DeclaredLine<HostHistory>,
): Declared<HostHistory> {
  return {
    title,
    detail,
    height: 96,
    lines: [
      { ...solid, stroke: 'compute' },
      { ...dashed, stroke: 'ink-2', isDashed: true, isOptional: true },
    ],
  }
}

/** In the unit of the higher one, which their ticks leave out. */
function rates(
  title: string,
  solid: DeclaredLine<HostHistory>,
  dashed: DeclaredLine<HostHistory>,
): Declared<HostHistory> {
  const most = (history: HostHistory) =>
    highest([solid, dashed].flatMap(({ metric }) => seriesOf(history, metric)?.values ?? [])) ?? 0
  return pair(title, history => `${bytesScale(most(history)).unit}/s, by anyone on it`, solid, dashed)
}

/** How instants are told: by the clock, or since a run's start. */
export interface HostClock {
  /** Milliseconds since 1970 at which the axis reads 0. */
  originMs: number
  /** Left out: the time since then. */
  label?: (atS: number) => string
}

export interface HostCharts {
  across: Axis
  /** Ascending starts of the intervals, in seconds of the axis. */
  at: readonly number[]
  charts: readonly ShownChart[]
  /** Every figure that the service has of the host, also those without a chart. */
  quantities: readonly Quantity[]
}

export function hostCharts(history: HostHistory, clock: HostClock): HostCharts {
  const startS = (Date.parse(history.from_at) - clock.originMs) / 1_000
  const stepS = history.bucket_us / 1e6
  const at = history.series[0]?.values.map((_, index) => startS + index * stepS) ?? []
  const across = timeAxis(startS, startS + at.length * stepS, 'start', clock.label)
  const ground = {
    source: history,
    across,
    marks: [],
    find(metric: string) {
      const series = seriesOf(history, metric)
      return series ? { ...series, at } : null
    },
    newest: (value: string) => value,
    highest: (value: string) => value,
  }
  return {
    across,
    at,
    charts: HOST_CHARTS.map(chart => shownChart(chart, ground)),
    quantities: history.series.map(({ metric, unit, values }) => ({
      name: metric,
      label: spoken(metric),
      unit,
      at,
      values,
    })),
  }
}

/** `disk_read_bytes_per_s` → `disk read`: its unit is told by its figure. */
export function spoken(metric: string): string {
  return metric.replace(/(_used)?_bytes(_per_s)?$/, '').replaceAll('_', ' ')
}

function seriesOf(history: HostHistory, metric: string) {
  return history.series.find(series => series.metric === metric)
}
