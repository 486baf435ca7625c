/** The charts of a run and of its hosts, and what stands around them. */
import { plural } from '../format'
import { roundedWithin, waiter } from './shared'

export const charts = {
  givenUp: (step: string) =>
    `Single steps before step ${step} were deleted by the retention setting: what is left there are figures of 256 steps or more.`,
  rounded: (bits: number) => `Durations were stored rounded to within ${roundedWithin(bits)}.`,
  title: 'Where the step time goes',
  mean: (steps: number) =>
    steps <= 1 ? 'every step' : `mean of ${steps.toLocaleString('en')} steps per point`,
  rank: 'Rank',
  rankOption: (rank: number, straggler: boolean) => `rank ${rank}${straggler ? ', straggler' : ''}`,
  loader: 'Loader',
  range: 'Time range',
  figures: 'What a point shows',
  meanFigures: 'mean',
  percentiles: 'p50 – p99',
  spread: { p50: 'median', p95: 'p95', p99: 'p99' },
  spreadLabel: (p50: string, p99: string) =>
    `Spread of step time over the run: median ${p50}, 99th percentile ${p99} at its end`,
  spreadOf: (steps: number) => `spread of ${steps.toLocaleString('en')} steps per point`,
  idle: (share: string) => `GPU idle without data ${share}`,
  idleNow: (share: string) => `${share} idle`,
  disagree: 'Why they disagree',
  disagreement: (util: string, idle: string) =>
    `NVML reads ${util} busy and the device’s own clock measures ${idle} idle: together more than 100%. Both are right. NVML counts a whole sample as busy when any kernel ran in it, however short, so it misses the gaps between kernels. The device’s clock measures these gaps, and the verdict uses it.`,
  whole: 'Whole run',
  zoomed: 'Zoomed',
  ofRank: (rank: number) => `These charts show rank ${rank}, which waits for the straggler.`,
  showRank: (rank: number) => `Show rank ${rank}`,
  crosshair: 'Position in the run: arrow keys move along all charts',
  start: 'start',
  epoch: (index: number) => `epoch ${index}`,
  newest: 'newest',
  step: (index: string) => `step ${index}`,
  parts: { wait: 'data wait', copy: 'copy', compute: 'compute' },
  highest: (duration: string) => `highest ${duration}`,
  stepLabel: (wait: string, total: string) =>
    `Stacked step time over the run: data wait ${wait} of ${total} at its end`,
  queue: (gpus: number | null) => `Batches ready when the ${waiter(gpus)} asks for one`,
  queueOf: (capacity: number) => `of ${capacity} prefetched`,
  gpuBusy: 'GPU busy',
  gpuBusyIdle: 'GPU busy, and idle without data',
  gpuBusyDetail: (hasIdle: boolean) =>
    `from NVML; reads high, since any kernel in a sample makes it busy${hasIdle ? '; dashed: idle, by the device’s clock' : ''}`,
  load: (workers: number | null) =>
    workers === 0
      ? 'Time the training process takes to load one batch'
      : 'Time a worker takes to load one batch',
  loadDetail: (gpus: number | null, limited: boolean) =>
    limited
      ? `darker is more batches; above the dashed line the ${waiter(gpus)} waits`
      : 'darker is more batches',
  loadLabel: (median: string, limit: string | null) =>
    `Heat map of load time per batch: median ${median} at its end${limit ? `, limit ${limit}` : ''}`,
  now: (value: string) => `${value} now`,
  limit: (value: string) => `${value} limit`,
  none: 'No steps were recorded yet.',
  ready: (depth: string) => `batches ready ${depth}`,
  busy: (share: string) => `GPU busy ${share}`,
  columns: {
    at: 'At',
    step: 'Step',
    wait: 'Data wait',
    copy: 'Copy',
    compute: 'Compute',
    total: 'Whole step',
    ready: 'Batches ready',
    busy: 'GPU busy',
    idle: 'GPU idle without data',
  },
  eventsTitle: 'What happened',
  eventColumns: ['At', 'What'],
  died: (workers: readonly number[]) => `worker${workers.length === 1 ? '' : 's'} ${workers.join(', ')} died`,
  coarser: 'single steps deleted before',
  sharedHost: (others: number, host: string) =>
    `${others === 1 ? 'another job' : `${others} other jobs`} on ${host}`,
  sharedMount: (others: number, mount: string) =>
    `${others === 1 ? 'another run waits' : `${others} other runs wait`} for ${mount}`,
  otherLoader: (loader: string, index: number) => `${loader} ${index}`,
  series: 'The charts',
}

export const workers = {
  title: 'Worker by worker',
  detail: 'p5, median, p95',
  titleAlone: 'Loading one batch',
  name: (worker: number | null) => (worker === null ? 'main process' : `worker ${worker}`),
  limit: (limit: string, gpus: number | null) => `Above ${limit} per batch the ${waiter(gpus)} waits.`,
  label: (count: number, low: string, high: string) =>
    `Load time of ${plural(count, 'lane')}; medians ${low === high ? low : `${low} to ${high}`}`,
  columns: {
    worker: 'Worker',
    batches: 'Batches',
    p5: '5th',
    p50: 'Median',
    p95: '95th',
    cpu: 'On a CPU',
    runqueue: 'No CPU free',
    blocked: 'Blocked',
    read: 'Read',
    memory: 'Memory',
    own: 'Unshared memory',
    growth: 'Growth per hour',
    threads: 'Threads',
    died: 'Died',
    raised: 'Exceptions',
  },
  noBatch: 'no batch',
  above: (slow: readonly string[], all: number) =>
    slow.length === 0
      ? 'No worker’s median is above it.'
      : slow.length === all
        ? 'All medians are above it: no single worker is to blame.'
        : `${slow.length} of ${all} medians ${slow.length === 1 ? 'is' : 'are'} above it: ${slow.join(', ')}.`,
  memory: (size: string, own: string | null, threads: string | null) =>
    `${size} of memory each${own ? ` (${own} unshared)` : ''}${threads ? `, ${threads}` : ''}.`,
  threads: (low: number, high: number) =>
    low === high ? plural(low, 'thread') : `${low} to ${high} threads`,
  range: (low: string, high: string) => (low === high ? low : `${low} to ${high}`),
  grows: (name: string, perHour: string, isAlive: boolean) =>
    `${name} ${isAlive ? 'grows' : 'grew'} by ${perHour} per hour.`,
  died: (name: string, count: number) => `${name} died${count > 1 ? ` ${count} times` : ''}.`,
  raised: (name: string, count: number) =>
    `${name} ended with an exception${count > 1 ? ` ${count} times` : ''}.`,
  pin: (us: string) => `The pin-memory thread then takes ${us} per batch.`,
  what: 'The workers',
}

export const gantt = {
  title: (s: string) => `The last ${s}`,
  cpu: 'on a CPU',
  runqueue: 'no CPU free',
  blocked: 'blocked',
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
    `In these ${span} the ${waiter(gpus)} waits ${wait} (${share}), and ${plural(steps, 'step')} ${steps === 1 ? 'begins' : 'begin'}. Press f to show all.`,
  more: (hidden: number) => `${plural(hidden, 'more worker')} not shown.`,
  pinned: (us: string) => `then pinned in ${us}`,
  idle: (us: string) => `the GPU idle for ${us} of it`,
  split: 'Within a bar the colours show shares of its time, not their order.',
  label: (workers: number, s: string) =>
    `Timeline of ${workers === 0 ? 'loading in the training process' : plural(workers, 'worker')} and the training loop over the last ${s}`,
  batch: (index: number, lane: string, load: string) => `batch ${index}, ${lane}: ${load}`,
  step: (index: number, wait: string, step: string, idle: string | null) =>
    `step ${index}: waits ${wait} of ${step}${idle ? `, ${gantt.idle(idle)}` : ''}`,
  open: 'a step that has not ended',
  columns: {
    batch: 'Batch',
    worker: 'Worker',
    start: 'Starts',
    load: 'Load time',
    cpu: 'On a CPU',
    runqueue: 'No CPU free',
    blocked: 'Blocked',
    pin: 'Pinning',
    wait: 'Data wait',
  },
  what: 'The timeline',
}

export const hostPanels = {
  what: 'The hosts',
  historyOf: (name: string) => `${name} during this run`,
  chooseHost: 'Host',
  history: 'Use over time',
  spans: 'Runs on this host',
  chart: {
    cores: 'Cores in use',
    memory: 'Memory and /dev/shm',
    disk: 'Disks',
    network: 'Networks',
  },
  own: 'runs',
  others: 'others',
  rate: (unit: string) => `${unit}/s, all processes on the host`,
  ofCores: (usable: string) => `of ${usable} that runs may use`,
  ofMemory: (memory: string, shm: string) => `of ${memory} and of ${shm}`,
  dashed: { memory: 'shm', disk: 'written', network: 'sent' },
  solid: { memory: 'memory', disk: 'read', network: 'received' },
  at: 'At',
  start: 'start',
  crosshair: 'Time shown in the charts of the host',
}
