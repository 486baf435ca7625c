/** Words around the charts of a run; each chart declares its own. */
import { plural } from '../format'
import { roundedWithin, waiter } from './shared'

export const charts = {
  moreCharts: (count: number) => plural(count, 'more chart'),
  deleted: (step: string) =>
    `Single steps before step ${step} were deleted by the retention setting: what is left there are figures of 256 steps or more.`,
  rounded: (bits: number) => `Durations were stored rounded to within ${roundedWithin(bits)}.`,
  title: 'Where the step time goes',
  mean: (steps: number) =>
    steps <= 1 ? 'every step' : `mean of ${steps.toLocaleString('en')} steps per point`,
  unjudged: (figures: string) => `${figures}; not judged`,
  spreadOf: (steps: number) => `spread of ${steps.toLocaleString('en')} steps per point`,
  rank: 'Rank',
  rankOption: (rank: number, straggler: boolean) => `rank ${rank}${straggler ? ', straggler' : ''}`,
  range: 'Time range',
  figures: 'What a point shows',
  meanFigures: 'mean',
  percentiles: 'p50 – p99',
  whole: 'Whole run',
  zoomed: 'Zoomed',
  ofRank: (rank: number) => `These charts show rank ${rank}, which waits for the straggler.`,
  otherWaits: (us: string) =>
    `The rest of a step includes waits for other loaders, ${us} of the mean step: choose one of them to see its own.`,
  showRank: (rank: number) => `Show rank ${rank}`,
  crosshair: 'Position in the charts: arrow keys move along all of them',
  newest: 'newest',
  beforeFirst: 'before the first batch',
  epoch: (index: number) => `epoch ${index}`,
  none: 'No steps were recorded yet.',
  eventsTitle: 'What happened',
  eventColumns: ['At', 'What'],
  died: (workers: readonly number[]) => `worker${workers.length === 1 ? '' : 's'} ${workers.join(', ')} died`,
  coarser: 'single steps deleted before',
  sharedHost: (others: number, host: string) =>
    `${others === 1 ? 'another job' : `${others} other jobs`} on ${host}`,
  sharedMount: (others: number, mount: string) =>
    `${others === 1 ? 'another run waits' : `${others} other runs wait`} for ${mount}`,
  lasted: (span: string, written: string | null) => (written ? `${span}, ${written} written` : span),
}

export const workers = {
  title: 'Worker by worker',
  detail: 'p5, median, p95',
  titleAlone: 'Loading one batch',
  name: (worker: number | null) => (worker === null ? 'main process' : `worker ${worker}`),
  /** Where no worker differs from the others, instead of the chart: on which side of the limit all are. */
  folded: (areSlow: boolean, limit: string) =>
    `all medians are ${areSlow ? 'above' : 'within'} the limit of ${limit}`,
  /** To be checked by arithmetic: `limit` is `count` times `work`. */
  limit: (limit: string, count: number, work: string, gpus: number | null) =>
    `Limit: loads of ${limit} per batch on average, since ${plural(count, 'worker')} ${count === 1 ? 'loads' : 'load'} one each while the ${waiter(gpus)} works ${work} per step. With longer ones it has to wait.`,
  label: (count: number, medians: string) => `Load time of ${plural(count, 'worker')}; median ${medians}`,
  noBatch: 'no batch',
  above: (slow: readonly string[], all: number) =>
    slow.length === 0
      ? 'No worker’s median is above it: what is left to wait for are single longer loads, batches being handed over, or a free core.'
      : slow.length === all
        ? 'All medians are above it: no single worker is to blame.'
        : `${slow.length} of ${all} medians ${slow.length === 1 ? 'is' : 'are'} above it: ${slow.join(', ')}.`,
  memory: (size: string, isOfEach: boolean, own: string | null, threads: string | null) =>
    `${size} of memory${isOfEach ? ' each' : ''}${own ? ` (${own} unshared)` : ''}${threads ? `, ${threads}` : ''}.`,
  threads: (low: number, high: number) =>
    low === high ? plural(low, 'thread') : `${low} to ${high} threads`,
  range: (low: string, high: string) => (low === high ? low : `${low} to ${high}`),
  grows: (name: string, perHour: string, isAlive: boolean) =>
    `${name} ${isAlive ? 'grows' : 'grew'} by ${perHour} per hour.`,
  died: (name: string, count: number) => `${name} died${count > 1 ? ` ${count} times` : ''}.`,
  raised: (name: string, count: number) =>
    `${name} ended with an exception${count > 1 ? ` ${count} times` : ''}.`,
  pin: (us: string) => `The pin-memory thread then takes ${us} per batch.`,
}

export const trials = {
  title: 'Tried while it trained',
  columns: ['Setting', 'Mean step', 'Steps per s', 'Gain', 'Predicted', 'Steps'],
  interval: (low: string, high: string) => `${low} to ${high}`,
  gained: (factor: string, interval: string) =>
    `${factor} as fast, measured in turns with the setting before${interval && ` (95%: ${interval})`}.`,
  before: 'mean step before, in trials',
  during: (span: string) => `during ${span} of trials`,
  after: 'since then',
  sinceThen: 'gained since then, against all steps before',
  all: (measured: number, others: number) =>
    `Each setting with its pace: ${measured} measured${others > 0 ? `, ${others} not` : ''}`,
  began: 'began with',
  stayed: 'began with, and stayed',
  search: (number: number) => `search ${number}: `,
  kept: 'kept',
  band: 'trials',
  keeps: (settings: string) => `kept ${settings}`,
}

export const gantt = {
  title: (steps: number) => (steps === 1 ? 'The last step' : `The last ${steps} steps`),
  folded: 'batch by batch, worker by worker',
  all: (steps: string) => `Press f to show all ${steps} steps.`,
  cpu: 'on a CPU',
  runqueue: 'no CPU free',
  blocked: 'blocked',
  load: 'no CPU free or blocked',
  waits: (gpus: number | null) => `${waiter(gpus)} waits`,
  rest: 'rest of the step',
  loop: 'training loop',
  loading: 'loading',
  end: 'end',
  zoom: 'zoom',
  pan: 'pan',
  fit: 'all',
  nextBatch: 'batch',
  stretch: (span: string, steps: number, wait: string, share: string, gpus: number | null) =>
    `In this stretch of ${span} the ${waiter(gpus)} waits ${wait} (${share}), and ${plural(steps, 'step')} ${steps === 1 ? 'begins' : 'begin'}. Press f to show all.`,
  more: (hidden: number) => `${plural(hidden, 'more worker')} not shown.`,
  pinned: (us: string) => `then pinned in ${us}`,
  idle: (us: string) => `the GPU idle for ${us} of it`,
  split: 'Within a bar the colours show shares of its time, not their order.',
  label: (workers: number, s: string) =>
    `Timeline of ${workers === 0 ? 'loading in the training process' : plural(workers, 'worker')} and the training loop over the last ${s}`,
  batch: (index: number, loadedBy: string, load: string) => `batch ${index}, ${loadedBy}: ${load}`,
  step: (index: number, wait: string, step: string, idle: string | null) =>
    `step ${index}: waits ${wait} of ${step}${idle ? `, ${gantt.idle(idle)}` : ''}`,
  open: 'a step that has not ended',
}

export const hostPanels = {
  what: 'The hosts',
  historyOf: (name: string) => `${name} during this run`,
  chooseHost: 'Host',
  spans: 'Runs on this host',
}
