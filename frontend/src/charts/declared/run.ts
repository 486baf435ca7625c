/**
 * The charts of the Run page over run time, each declared once. For another one, of a metric that the series API
 * gives, add an entry to `RUN_CHARTS`: nothing else needs to know of it.
 */
import type { LoaderInfo, LoadHeatmap, Run, SeriesPage, WorkersPage } from '../../api/schema'
import { formatDuration, formatFraction } from '../../format'
import { waiter } from '../../text/shared'
import type { Mark } from '../annotate'
import { type Axis, timeAxis } from '../axes'
import { type Column, held, heldSamples, last, mean, type Stretch } from '../columns'
import { gapsOf } from '../gaps'
import { heatmap } from '../heatmap'
import {
  type ChartSet,
  type Declared,
  type DeclaredLine,
  type Explanation,
  type Found,
  type Ground,
  type Quantity,
  type ShownChart,
  shownChart,
} from './declaration'

/** What the charts show. */
export interface ShownRun {
  run: Pick<Run, 'loaders' | 'gpus'>
  page: SeriesPage
  marks: readonly Mark[]
  /** The whole run, not a part of it. */
  isWhole: boolean
  /** The right edge is now; else it is in the past. */
  endsNow: boolean
  /** Its loop waits for other loaders too, during what is left of a step. */
  hasOtherWaits: boolean
}

/** The first chart: taller than the others, and with the labels and marks of all of them. */
const STEP = { isUntitled: true, isLabelled: true, height: 216 } as const

/** What is left of a step beside data wait and copy; the name is that of its column in a file. */
interface Rest extends Required<Pick<DeclaredLine<ShownRun>, 'label' | 'end' | 'stroke' | 'fill'>> {
  name: string
}

/** Of samples, one a second; all others are of steps. */
const UTIL = 'gpu_util_fraction'

const OTHERS: DeclaredLine<ShownRun> = {
  metric: 'others_wait_us',
  label: 'waiting for other loaders',
  end: 'others',
  stroke: 'wait',
  fill: 'wait-soft',
}
const COMPUTE: Rest = {
  name: 'compute_us',
  label: 'compute',
  end: 'compute',
  stroke: 'compute',
  fill: 'compute-fill',
}

function stack({ name, ...rest }: Rest, ...others: DeclaredLine<ShownRun>[]): Declared<ShownRun> {
  return {
    ...STEP,
    title: 'Stacked step time over the run',
    isStacked: true,
    lines: [
      { metric: 'data_wait_us', label: 'data wait', end: 'data wait', stroke: 'wait', fill: 'hatch' },
      ...others,
      {
        metric: 'h2d_exposed_us',
        label: 'copy',
        end: 'copy',
        stroke: 'copy',
        fill: 'copy-fill',
        isOptional: true,
      },
      {
        metric: 'step_us',
        ...rest,
        derived: { name, unit: 'us', values: restOf },
      },
      { metric: 'pause_us', label: 'pause', isOptional: true },
      { metric: 'step_us', label: 'whole step' },
    ],
  }
}

export const RUN_CHARTS: readonly Declared<ShownRun>[] = [
  {
    ...stack(COMPUTE),
    isFor: shown => !hasPercentiles(shown) && !shown.hasOtherWaits,
  },
  {
    ...stack(COMPUTE, OTHERS),
    isFor: shown => !hasPercentiles(shown) && shown.hasOtherWaits && !isRestMixed(shown),
  },
  {
    // What of it is waits for other loaders is not known step by step: neither word nor colour says compute.
    ...stack({ name: 'rest_us', label: 'rest of the step', end: 'the rest', stroke: 'ink-3', fill: 'sunk' }),
    isFor: shown => !hasPercentiles(shown) && isRestMixed(shown),
  },
  {
    ...STEP,
    // Percentiles do not add up: they are lines of the whole step, and not parts of it.
    title: 'Spread of step time over the run',
    isFor: hasPercentiles,
    lines: [
      { metric: 'step_us', percentile: 'p50', label: 'median', end: 'median', stroke: 'ink' },
      { metric: 'step_us', percentile: 'p95', label: 'p95', end: 'p95', stroke: 'compute', isDashed: true },
      { metric: 'step_us', percentile: 'p99', label: 'p99', end: 'p99', stroke: 'ink-3', isDashed: true },
    ],
  },
  {
    title: ({ run }) => `Batches ready when the ${waiter(run.gpus)} asks for one`,
    detail: shown => {
      const capacity = prefetchCapacity(shown)
      return capacity === null ? '' : `of ${capacity} prefetched`
    },
    top: prefetchCapacity,
    isFor: shown => settingsOf(shown)?.num_workers !== 0,
    lines: [{ metric: 'queue_depth', label: 'batches ready', stroke: 'ink' }],
  },
  {
    title: shown => (measuresIdle(shown) ? 'GPU busy, and idle without data' : 'GPU busy'),
    detail: shown =>
      `from NVML; reads high, since any kernel in a sample makes it busy${measuresIdle(shown) ? '; dashed: idle, by the device’s clock' : ''}`,
    top: 1,
    isFor: ({ run }) => run.gpus !== 0,
    lines: [
      { metric: UTIL, label: 'GPU busy', stroke: 'compute' },
      {
        metric: 'gpu_idle_us',
        label: 'GPU idle without data',
        end: share => `${share} idle`,
        stroke: 'wait',
        isDashed: true,
        isOptional: true,
        derived: { name: 'gpu_idle_fraction', unit: 'fraction', values: idleOf },
      },
    ],
    explained: disagreement,
  },
]

const METRICS: readonly string[] = [
  ...new Set(['step_us', ...RUN_CHARTS.flatMap(chart => chart.lines.map(line => line.metric))]),
]

/** Metrics requested from the series API; step time first, since its buckets are those of the whole page. */
export function runMetrics(loaders: number): readonly string[] {
  return loaders > 1 ? METRICS : METRICS.filter(name => name !== 'others_wait_us')
}

/** `null`: no step was recorded yet. */
export function runCharts(shown: ShownRun, workers: WorkersPage | null): ChartSet | null {
  const { page, isWhole } = shown
  const step = find(page, 'step_us')
  if (!step || step.at.length === 0) return null
  const { at } = step
  const fromS = isWhole ? 0 : (at[0] ?? 0)
  const endS = Math.max(at.at(-1) ?? 0, (page.end_us ?? 0) / 1e6)
  const across = timeAxis(fromS, Math.max(endS, fromS + 1), 'start')
  const gaps = gapsOf(page)
  const ground: Ground<ShownRun> = {
    source: shown,
    across,
    // What happened after the last step is shown at the right edge.
    marks: isWhole
      ? shown.marks.map(mark => ({ ...mark, at: Math.min(mark.at, across.to) }))
      : shown.marks.filter(({ until = Number.POSITIVE_INFINITY }) => until > across.from),
    held: (metric, of) => (metric === UTIL ? heldSamples(of) : held(of, endS, gaps)),
    find: (metric, percentile) => find(page, metric, percentile),
    newest: value => newest(shown, value),
    highest: duration => `highest ${duration}`,
  }
  const declared = RUN_CHARTS.filter(chart => chart.isFor?.(shown) ?? true)
  const charts = declared.map(chart => shownChart(chart, ground))
  const load = workers && loadChart(shown, workers, across, gaps)
  const first = page.series.find(series => series.metric === 'step_us')?.first_index ?? []
  const firstStep: Quantity = { name: 'first_step', label: 'step', unit: 'count', at, values: first }
  return {
    charts: load ? [...charts, load] : charts,
    quantities: [firstStep, ...charts.flatMap(chart => chart.quantities)],
    across,
    at,
    position: { name: 'at_s', label: 'At' },
  }
}

/** Load times come with the workers, in bins and not as a series. `null`: no batch was loaded in this stretch. */
function loadChart(
  shown: ShownRun,
  workers: WorkersPage,
  across: Axis,
  gaps: readonly Stretch[],
): ShownChart | null {
  const { heatmap: map, limit_us: limitUs } = workers
  if (!map || map.counts.length === 0) return null
  const medianUs = medianOf(map)
  // Of a bin: its exact figure stands with the workers.
  const median = formatDuration(medianUs === null ? null : Number(medianUs.toPrecision(2)))
  const limit = limitUs === null ? '' : formatDuration(limitUs)
  return {
    title: settingsOf(shown)?.num_workers
      ? 'Time a worker takes to load one batch'
      : 'Time the training process takes to load one batch',
    detail: `darker is more batches${limit && '; the dashed line is the longest that the workers keep up with'}`,
    label: `Heat map of load time per batch: median about ${median}${limit && `, limit ${limit}`}`,
    quantities: [],
    drawn: heatmap({
      across,
      columns: held(
        map.at_us.map(us => us / 1e6),
        map.end_us / 1e6,
        gaps,
      ),
      edgesUs: map.edges_us,
      counts: map.counts,
      limitUs,
      limitLabel: `${limit} limit`,
      medianUs,
    }),
  }
}

function newest({ endsNow }: ShownRun, value: string): string {
  return `${value} ${endsNow ? 'now' : 'at end'}`
}

function find(page: SeriesPage, metric: string, percentile?: 'p50' | 'p95' | 'p99'): Found | null {
  const series = page.series.find(one => one.metric === metric)
  if (!series) return null
  const { unit, at_us: atUs, mean, missing } = series
  return {
    unit,
    missing,
    at: atUs.map(us => us / 1e6),
    values: (percentile ? series[percentile] : mean) ?? [],
  }
}

function hasPercentiles({ page }: ShownRun): boolean {
  return last(find(page, 'step_us', 'p50')?.values ?? []) !== null
}

function measuresIdle({ page }: ShownRun): boolean {
  return last(find(page, 'gpu_idle_us')?.values ?? []) !== null
}

/** Batches that the workers of the shown loader may have ready; `null` without workers, or where they are not known. */
function prefetchCapacity(shown: ShownRun): number | null {
  const settings = settingsOf(shown)
  const workers = Number(settings?.num_workers ?? 0)
  return workers > 0 ? workers * Number(settings?.prefetch_factor ?? 2) : null
}

function settingsOf({ run, page }: ShownRun): LoaderInfo['settings'] | undefined {
  return run.loaders.find(loader => loader.loader === page.loader)?.settings
}

/** Waits for other loaders are in the mean step, and not known over run time: until the run was judged again. */
export function isRestMixed({ hasOtherWaits, page }: Pick<ShownRun, 'hasOtherWaits' | 'page'>): boolean {
  return hasOtherWaits && last(find(page, 'others_wait_us')?.values ?? []) === null
}

/** What of the step is neither wait nor copy nor a pause; a copy that was not measured is inside it. In µs. */
function restOf(column: (metric: string) => Column): Column {
  const [wait, ...others] = ['data_wait_us', 'others_wait_us', 'h2d_exposed_us', 'pause_us'].map(column)
  return column('step_us').map((step, index) => {
    const waited = wait?.[index] ?? null
    const besides = others.reduce((sum, each) => sum + (each[index] ?? 0), waited ?? 0)
    return step === null || waited === null ? null : Math.max(0, step - besides)
  })
}

/** Share of step time in which the device idled for data, by its own clock. */
function idleOf(column: (metric: string) => Column): Column {
  const steps = column('step_us')
  return column('gpu_idle_us').map((idle, index) =>
    idle === null || !steps[index] ? null : idle / steps[index],
  )
}

/** Means over slightly different spans differ by so much anyway. */
const TOLERANCE = 0.05

/** Only where both were measured and add up to more than the time: else there is nothing to explain. */
function disagreement([util, idle]: readonly Quantity[]): Explanation | null {
  const [busy, idled] = [mean(util?.values ?? []), mean(idle?.values ?? [])]
  if (busy === null || idled === null || busy + idled <= 1 + TOLERANCE) return null
  return {
    summary: 'Why they disagree',
    text: `NVML reads ${formatFraction(busy)} busy and the device’s own clock measures ${formatFraction(idled)} idle: together more than 100%. Both are right. NVML counts a whole sample as busy when any kernel ran in it, however short, so it misses the gaps between kernels. The device’s clock measures these gaps, and the verdict uses it.`,
  }
}

/** Median load time of all that is drawn, in µs: the middle of its bin, known to a bin's width. */
function medianOf({ counts, edges_us: edgesUs }: LoadHeatmap): number | null {
  const bins = edgesUs.slice(1).map((_, bin) => counts.reduce((sum, column) => sum + (column[bin] ?? 0), 0))
  const half = bins.reduce((sum, count) => sum + count, 0) / 2
  if (half === 0) return null
  let below = 0
  const bin = bins.findIndex(count => {
    below += count
    return below >= half
  })
  return Math.sqrt((edgesUs[bin] ?? 1) * (edgesUs[bin + 1] ?? 1))
}
