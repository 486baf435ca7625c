/** The charts of a host over time, each declared once: who kept its cores busy, its memory, its disks, its networks. */
import type { HostHistory } from '../../api/schema'
import { formatBytes, formatNumber } from '../../format'
import { timeAxis } from '../axes'
import { type ChartSet, type Declared, type DeclaredLine, shownChart } from './declaration'

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
        end: 'others',
        endColour: 'ink-2',
        stroke: 'load-runqueue',
        fill: 'load-blocked',
        isOptional: true,
      },
      { metric: 'own_cores', label: 'own cores', end: 'runs', stroke: 'compute', fill: 'compute-fill' },
    ],
  },
  pair(
    'Memory and /dev/shm',
    ({ memory_limit_bytes, shm_total_bytes }) =>
      `of ${formatBytes(memory_limit_bytes)} and of ${formatBytes(shm_total_bytes)}`,
    { metric: 'memory_used_bytes', label: 'memory', end: 'memory', whole: host => host.memory_limit_bytes },
    { metric: 'shm_used_bytes', label: 'shm', end: 'shm', whole: host => host.shm_total_bytes },
  ),
  pair(
    'Disks',
    () => 'all processes on the host',
    { metric: 'disk_read_bytes_per_s', label: 'disk read', end: 'read' },
    { metric: 'disk_written_bytes_per_s', label: 'disk written', end: 'written' },
  ),
  pair(
    'Networks',
    () => 'all processes on the host',
    { metric: 'network_received_bytes_per_s', label: 'network received', end: 'received' },
    { metric: 'network_sent_bytes_per_s', label: 'network sent', end: 'sent' },
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

/** How instants are written: by the clock, or since a run's start. */
export interface HostClock {
  /** Milliseconds since 1970 at which the axis reads 0. */
  originMs: number
  /** Left out: the time since then. */
  label?: (atS: number) => string
}

export function hostCharts(history: HostHistory, clock: HostClock): ChartSet {
  const startS = (Date.parse(history.from_at) - clock.originMs) / 1_000
  const stepS = history.bucket_us / 1e6
  const at = history.series[0]?.values.map((_, index) => startS + index * stepS) ?? []
  const across = timeAxis(startS, startS + at.length * stepS, 'start', clock.label)
  const ground = {
    source: history,
    across,
    marks: [],
    find(metric: string) {
      const series = history.series.find(one => one.metric === metric)
      return series ? { ...series, at } : null
    },
    newest: (value: string) => value,
    highest: (value: string) => value,
  }
  return {
    across,
    at,
    position: { name: 'at_s', label: 'At' },
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

/** `disk_read_bytes_per_s` → `disk read`: its figure has the unit. */
export function spoken(metric: string): string {
  return metric
    .replace(/(_used)?_bytes(_per_s)?$/, '')
    .replace(/^shm$/, '/dev/shm')
    .replaceAll('_', ' ')
}
