/** Every sentence and label of the page, in one place. Verdicts and advice are the service's own words. */
import type { Cause, Setting, Status } from './api/names'
import { formatAge, formatSetting, plural } from './format'

export const text = {
  product: 'Underfed',
  runs: 'Runs',
  theme: 'Theme',
  themeTitle: 'Switch between light and dark (t)',
  shortcuts: 'Keyboard shortcuts',
  search: 'Search',
  signOut: 'Sign out',
  skipToContent: 'Skip to content',
  copy: 'Copy',
  copied: 'Copied',
  copyDiff: 'Copy diff',
  copyDetails: 'Copy details',
  close: 'Close',
  asTable: 'As table',
  asChart: 'As chart',
  notMeasured: 'not measured',
  loading: 'Loading',
}

export const statusWord: Record<Status, string> = {
  running: 'running',
  finished: 'finished',
  crashed: 'crashed',
  lost: 'no signal',
}

export const causeWord: Record<Cause, string> = {
  no_workers: 'no workers',
  too_few_workers: 'too few workers',
  cpu_limited: 'CPU saturated',
  thread_oversubscription: 'too many threads',
  storage_wait: 'slow storage',
  slow_collate: 'slow collate',
  ipc_copy: 'slow hand-over',
  pin_thread: 'slow pinning',
  worker_startup: 'worker start-up',
  slow_samples: 'slow samples',
  slow_sampler: 'slow sampler',
  unsharded_iterable: 'repeated data',
  pageable_copy: 'pageable copy',
  memory_pressure: 'memory short',
  slow_rank: 'slow rank',
}

/** What waits: a run without a GPU must not speak of one. */
function waiter(gpus: number | null): string {
  return gpus ? 'GPU' : 'training loop'
}

export const hourNoun = (onGpu: boolean): 'GPU-hour' | 'hour' => (onGpu ? 'GPU-hour' : 'hour')

export const link = {
  connecting: 'connecting',
  asleep: 'paused while hidden',
  gone: 'no answer',
  live: (ageS: number) => (ageS < 2 ? 'live' : `live, ${formatAge(ageS)} ago`),
  liveRuns: (count: number) => `live, ${plural(count, 'run')} reporting`,
}

export const banner = {
  gone: 'The service does not answer.',
  goneDetail: (retryInS: number, asOf: string | null) =>
    `${retryInS > 0 ? `Trying again in ${retryInS} s.` : 'Trying again now.'}${asOf ? ` What you see is as of ${asOf}.` : ''}`,
  tryNow: 'Try now',
  noSignal: (host: string, ageS: number) => `No data from ${host} for ${formatAge(ageS)}.`,
  noSignalDetail: (asOf: string) =>
    `Training may still be going on: check the host or the network. Everything below is as of ${asOf}.`,
  crashed: (steps: string) => `Crashed after ${steps} steps.`,
  crashedDetail: 'The verdict is of the steps before. Its last words:',
  crashedSilently: 'The verdict is of the steps before. It left no last words.',
  died: (worker: number, loader: string, rank: number) =>
    `Worker ${worker} of ${loader}${rank > 0 ? ` on rank ${rank}` : ''} died.`,
  diedSome: (count: number) => `${plural(count, 'worker')} died.`,
  diedDetail: (facts: readonly string[]) =>
    `${facts.join(', ')}: gone without a word while training lived on. So the kernel ends a process when memory runs out.`,
  diedProcess: (pid: number) => `process ${pid}`,
  diedAfter: (age: string) => `${age} into the run`,
  diedEpoch: (epoch: number) => `in epoch ${epoch}`,
  diedMemory: (bytes: string) => `last seen with ${bytes}`,
  diedLast: 'The last of them:',
  trouble: (what: string) => `${what} could not be read.`,
  request: (requestId: string) => `Request ${requestId}.`,
  ours: 'This page stumbled.',
  oursDetail:
    'The runs are safe: only their display failed. Reload the page; if it stays, report the details.',
  reload: 'Reload',
}

export const week = {
  none: 'No training was judged in the last seven days.',
  before: 'This week ',
  lost: (lost: string, used: string) => `${lost} of ${used}`,
  after: (share: string, change: string) => ` went to waiting for data: ${share}${change}.`,
  up: (share: string) => `, up from ${share}`,
  down: (share: string) => `, down from ${share}`,
  same: ', as in the week before',
  noCause: 'no single cause',
  causes: (noun: string) => `${noun} lost by cause, this week`,
  days: (onGpu: boolean) => `${onGpu ? 'GPU time' : 'time'} lost a day`,
  lastWeek: 'last week',
  thisWeek: 'this week',
}

export const runs = {
  caption: 'Runs',
  searchLabel: 'Search runs',
  searchHint: 'Name, tag, host, num_workers<8',
  searchRefused: (why: string) => `Not searched. ${why.replace(/^q, c/, 'C')}`,
  archivedLabel: 'Archived runs',
  notArchived: 'Not archived',
  archived: { true: 'Archived', any: 'With archived' },
  statusGroup: 'Status',
  all: 'All',
  anyVerdict: 'Any verdict',
  verdictLabel: 'Verdict',
  anyProject: 'Any project',
  projectLabel: 'Project',
  removeTag: (tag: string) => `Remove filter ${tag}`,
  filterTag: (tag: string) => `Only runs tagged ${tag}`,
  count: (shown: number, all: number) =>
    shown === all ? plural(all, 'run') : `${shown.toLocaleString('en')} of ${plural(all, 'run')}`,
  columns: {
    run: 'Run',
    status: 'Status',
    verdict: 'Verdict',
    wait: 'Data wait',
    spark: 'Last hour',
    lost: 'Time lost',
    lostGpu: 'GPU time lost',
    gain: 'Fix gains',
    step: 'Step',
    workers: 'Workers',
    gpus: 'GPUs',
    host: 'Host',
    user: 'User',
    started: 'Started',
  },
  gained: (factor: string) => `gained ${factor}`,
  moved: (moves: number, fresh: number) =>
    [fresh > 0 ? plural(fresh, 'new run') : '', moves > 0 ? `${plural(moves, 'row')} would move` : '']
      .filter(Boolean)
      .join(', '),
  resort: 'Sort again',
  noMatch: 'No run matches',
  clear: 'Clear filters',
  more: 'Loading more runs',
  list: 'The list of runs',
}

export const actions = {
  select: (name: string) => `Select ${name}`,
  selectAll: 'Select all runs in the list',
  selection: 'Selected runs',
  selected: (count: number) => `${plural(count, 'run')} selected`,
  archive: 'Archive',
  unarchive: 'Take out of the archive',
  delete: 'Delete',
  clear: 'Clear',
  undo: 'Undo',
  archived: (count: number) => `${plural(count, 'run')} archived.`,
  unarchived: (count: number) => `${plural(count, 'run')} taken out of the archive.`,
  deleted: (count: number) => `${plural(count, 'run')} deleted.`,
  failed: (why: string) => `Not done: ${why}.`,
  isArchived: 'archived',
}

export const empty = {
  title: 'No runs yet.',
  lead: 'Watch the loader in your training script. The run appears here with its first steps.',
  snippet: 'import underfed\nloader = underfed.watch(loader)',
  elsewhere: 'Start the script with the address of this service:',
  address: (url: string) => `UNDERFED_URL=${url} python train.py`,
  listening: (url: string, since: string) => `Listening on ${url} since ${since}.`,
}

export const signInPage = {
  title: 'Sign in',
  lead: 'This service asks for an access token. Whoever runs it makes one: underfed token create --name … --scope view',
  label: 'Access token',
  button: 'Sign in',
}

export const missing = {
  run: (runId: string) => `There is no run ${runId}.`,
  runDetail: 'It may have been deleted, or its first steps have not arrived yet.',
  page: 'There is nothing at this address.',
  back: 'All runs',
}

export const run = {
  steps: (steps: string, isRunning: boolean) => (isRunning ? `step ${steps}` : `${steps} steps`),
  after: (status: Status, age: string) =>
    ({
      running: `running ${age}`,
      finished: `finished after ${age}`,
      crashed: `crashed after ${age}`,
      lost: `no signal, ran ${age}`,
    })[status],
  ranks: (count: number) => plural(count, 'rank'),
  gpus: (count: number, name: string | null) => `${count} × ${name ?? 'GPU'}`,
  noGpu: 'no GPU',
  restarted: (count: number) => (count === 1 ? 'restarted once' : `restarted ${plural(count, 'time')}`),
  noLoaderDetail: 'Input that is no PyTorch DataLoader can be watched too, in the script itself:',
  advised: 'carries the advice of',
  overrides: 'Set for this run:',
  confidence: (level: string, steps: string, ranks: number) =>
    `confidence ${level}, from the last ${steps} steps${ranks > 1 ? ` on all ${ranks} ranks` : ''}`,
  clock: { gpu: 'device clock', host: 'host clock' },
  progress: (steps: string, needed: string) => `${steps} of ${needed} steps`,
  now: 'Mean step',
  withChange: (change: string, to: Setting) =>
    to === null ? `With ${change}` : `With ${change}=${formatSetting(to)}`,
  parts: { wait: 'data wait', copy: 'copy', compute: 'compute' },
  within: (parts: readonly string[]) => `Of the data wait: ${parts.join(', ')}.`,
  idle: (us: string) => `${us} with the GPU idle`,
  sampler: (us: string) => `${us} drawing indices`,
  lost: (used: string, isRunning: boolean) => `lost to waiting${isRunning ? ' so far' : ''}, of ${used} used`,
  rate: (ideal: string) => `now; ${ideal} if no step waited`,
  measuredRate: (ideal: string | null, measured: string, batches: string) =>
    `now; with instant data ${ideal === null ? '' : `${ideal} computed, `}${measured} measured by a replay of ${batches} batches`,
  saved: 'less for the same steps, with the first fix',
  facts: 'The run',
  verdict: 'The verdict',
}

export const advice = {
  title: 'Fixes, largest gain first',
  none: 'None needed',
  noneYet: 'None yet',
  noneYetDetail: 'Advice is computed from the measured steps, as soon as there are enough.',
  noneDetail: 'No change of the loader would make this run noticeably faster.',
  noneFound: 'None found',
  noneFoundDetail:
    'No setting was found that would make this run noticeably faster; the table says what was ruled out.',
  asNow: 'as now',
  interval: (low: string, high: string) => `${low} to ${high}`,
  ceiling: (factor: string) => `${factor} ceiling`,
  rangeLabel: (gain: string, low: string, high: string, ceiling: string) =>
    `Predicted speed-up ${gain}, interval ${low} to ${high}, ceiling ${ceiling}`,
  unpredicted: 'gain not computed',
  whyUnpredicted: 'Not computed:',
  order: 'Changes the order of batches for the same seed.',
  risk: 'Risk:',
  assumes: 'The interval rests on:',
  tryIt: 'Try it without touching the code:',
  ceilingNote: (step: string | null, factor: string) =>
    `Gains do not add up. With no data wait at all${step ? `, the step takes ${step}` : ' it is'}: ${factor}.`,
  refusals: 'What would not help',
}

export const shared = {
  lost: (hours: string) => `${hours} lost together, with`,
}

export const ledger = {
  title: 'What the advice gained',
  predicted: 'predicted',
  observed: 'observed',
  inside: 'A hit: inside the predicted interval.',
  outside: 'A miss: outside the predicted interval.',
  unpredicted: 'No gain was predicted: neither a hit nor a miss.',
  pending: 'Not judged yet.',
  before: 'Before:',
  after: 'After:',
  thisRun: 'this run',
  scale: (factor: string) => `${factor} as fast`,
}

export const keeping = {
  button: 'Retention',
  title: (project: string) => `How long ${project} keeps single steps`,
  taken: (rows: string, overviews: string) =>
    `Its runs take ${rows} GB of single steps and ${overviews} GB of overviews.`,
  days: 'Single steps are kept',
  daysUnit: 'days',
  daysNone: 'for ever',
  size: 'The project may take',
  sizeUnit: 'GB',
  sizeNone: 'any size',
  asService: (what: string) => `as the service: ${what}`,
  own: (unit: string) => `so many ${unit}:`,
  precision: 'Durations are stored',
  exact: 'exactly',
  rounded: (bits: number) => `rounded to within ${roundedWithin(bits)}`,
  detail:
    'Beyond age or size the oldest single steps are given up, for good. Overviews and verdicts stay. Rounding is of what is stored from now on.',
  save: 'Save',
  cancel: 'Cancel',
}

/** Half of the last of so many significant bits, at worst. */
function roundedWithin(bits: number): string {
  const percent = 100 / 2 ** bits
  const digit = 10 ** Math.floor(Math.log10(percent))
  return `${Number((Math.ceil(percent / digit) * digit).toPrecision(1))} %`
}

export const charts = {
  givenUp: (step: string) =>
    `Single steps before step ${step} were given up by retention: nothing there is finer than 256 steps.`,
  rounded: (bits: number) => `Single durations were stored rounded to within ${roundedWithin(bits)}.`,
  title: 'Where the step time goes',
  mean: (steps: number) =>
    steps <= 1 ? 'every step' : `mean of ${steps.toLocaleString('en')} steps a point`,
  rank: 'Rank',
  rankOption: (rank: number, straggler: boolean) => `rank ${rank}${straggler ? ', straggler' : ''}`,
  loader: 'Loader',
  range: 'Time range',
  whole: 'Whole run',
  zoomed: 'Zoomed',
  crosshair: 'Position in the run: arrow keys move along all charts',
  start: 'start',
  epoch: (index: number) => `epoch ${index}`,
  newest: 'newest',
  step: (index: string) => `step ${index}`,
  parts: { wait: 'data wait', copy: 'copy', compute: 'compute' },
  highest: (duration: string) => `highest ${duration}`,
  stepLabel: (wait: string, total: string) =>
    `Stacked step time over the run: data wait ${wait} of ${total} at its end`,
  queue: (gpus: number | null) => `Batches ready when the ${waiter(gpus)} asks`,
  queueOf: (capacity: number) => `of ${capacity} prefetched`,
  gpuBusy: 'GPU busy',
  gpuBusyDetail: (now: string) => `NVML, ${now} now; reads high, since it counts any kernel in the sample`,
  load: (workers: number | null) =>
    workers === 0 ? 'Time the training process takes to load one batch' : 'Time a worker takes for one batch',
  loadDetail: (gpus: number | null, limited: boolean) =>
    limited
      ? `darker is more batches; above the dashed line the ${waiter(gpus)} waits`
      : 'darker is more batches',
  loadLabel: (median: string, limit: string | null) =>
    `Heat map of load time per batch: median ${median} at its end${limit ? `, limit ${limit}` : ''}`,
  now: (value: string) => `${value} now`,
  limit: (value: string) => `${value} limit`,
  none: 'No steps yet.',
  ready: (depth: string) => `${depth} ready`,
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
  },
  series: 'The charts',
}

export const signals = {
  title: 'Why we say so',
  columns: { signal: 'Signal', measured: 'Measured', healthy: 'Healthy', reading: 'Reading' },
}

export const workers = {
  title: 'Worker by worker',
  detail: '5th, median, 95th percentile',
  titleAlone: 'Loading one batch',
  name: (worker: number | null) => (worker === null ? 'in training' : `worker ${worker}`),
  limit: (limit: string, gpus: number | null) => `Above ${limit} a batch the ${waiter(gpus)} waits.`,
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
    own: 'Its own',
    growth: 'Grows an hour',
    threads: 'Threads',
    died: 'Died',
    raised: 'Raised',
  },
  noBatch: 'no batch',
  memory: (size: string, own: string | null, threads: string | null) =>
    `${size} of memory each${own ? ` (${own} unshared)` : ''}${threads ? `, ${threads}` : ''}.`,
  threads: (low: number, high: number) =>
    low === high ? plural(low, 'thread') : `${low} to ${high} threads`,
  range: (low: string, high: string) => (low === high ? low : `${low} to ${high}`),
  grows: (name: string, perHour: string, isAlive: boolean) =>
    `${name} ${isAlive ? 'grows' : 'grew'} by ${perHour} an hour.`,
  died: (name: string, count: number) => `${name} died${count > 1 ? ` ${count} times` : ''}.`,
  raised: (name: string, count: number) =>
    `${name} ended with an exception${count > 1 ? ` ${count} times` : ''}.`,
  pin: (us: string) => `A thread of the training process then pins each batch: ${us}.`,
  what: 'The workers',
}

export const settings = {
  title: 'Loader settings',
  detail: 'as found in the process',
  advised: 'an advised change',
  dataset: 'dataset',
  items: (kind: string, count: string | null) => (count ? `${kind}, ${count} samples` : kind),
  batches: 'batches_per_epoch',
  sampler: 'sampler',
  collate: 'collate',
  transforms: 'transforms',
  watchedAt: 'watched_at',
  batch: 'batch',
  storage: 'storage',
  placeOn: (system: string | null, device: string | null) =>
    [system, device && `on ${device}`].filter(Boolean).join(' '),
  kinds: {
    nvme: 'NVMe',
    ssd: 'SSD',
    hdd: 'hard disk',
    network: 'network',
    memory: 'in memory',
    overlay: 'container layer',
    unknown: '',
  },
  files: (count: number) => `${plural(count, 'file')} seen`,
  batchOf: (tensors: string | null, bytes: string) => (tensors ? `${tensors}, ${bytes}` : bytes),
}

export const ranks = {
  title: 'Rank by rank',
  detail: 'data wait',
  others: (count: number) => `${plural(count, 'rank')} wait less than these.`,
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
  more: (hidden: number) => `${plural(hidden, 'more worker')} not drawn.`,
  pinned: (us: string) => `then pinned in ${us}`,
  idle: (us: string) => `the GPU idle for ${us} of it`,
  split: 'Within a bar: shares of its time, not their order.',
  label: (workers: number, s: string) =>
    `Timeline of ${workers === 0 ? 'loading in the training process' : plural(workers, 'worker')} and the training loop over the last ${s}`,
  batch: (index: number, lane: string, load: string) => `batch ${index}, ${lane}: ${load}`,
  step: (index: number, wait: string, step: string, idle: string | null) =>
    `step ${index}: waits ${wait} of ${step}${idle ? `, ${gantt.idle(idle)}` : ''}`,
  open: 'a step that is not over',
  columns: {
    batch: 'Batch',
    worker: 'Worker',
    start: 'Starts',
    load: 'Load time',
    cpu: 'On a CPU',
    runqueue: 'No CPU free',
    blocked: 'Blocked',
    pin: 'Pinned in',
    wait: 'Waited for it',
  },
  what: 'The timeline',
}

export const footnote = {
  agent: (version: string) => `Agent ${version}`,
  python: (version: string) => `Python ${version}`,
  torch: (version: string) => `torch ${version}`,
  overhead: (us: string, share: string | null) => `measuring costs ${us} a step${share ? ` (${share})` : ''}`,
  nothingLost: 'nothing recorded was lost',
  lost: {
    dropped_steps: (n: number) => `${plural(n, 'step')} overwritten before they were read`,
    dropped_batches: (n: number) => `${plural(n, 'batch record')} overwritten before they were read`,
    dropped_windows: (n: number) => `${plural(n, 'window')} dropped by the full spool`,
    rejected_windows: (n: number) => `${plural(n, 'window')} rejected by the service`,
    agent_errors: (n: number) => `${plural(n, 'failure')} inside the agent`,
  },
  notMeasured: 'Not measured',
  cores: (usable: string, all: string | null) => `${usable}${all ? ` of ${all}` : ''} CPU cores`,
  memory: (size: string) => `${size} memory`,
  shm: (size: string) => `${size} /dev/shm`,
  numa: (nodes: number) => plural(nodes, 'NUMA node'),
  openFiles: (count: string) => `${count} open files at most`,
  launched: (by: string) => `launched by ${by}`,
}

export const keys = {
  title: 'Keyboard shortcuts',
  on: 'Single-key shortcuts are on',
  table: [
    ['/', 'search runs'],
    ['j k', 'next, previous run'],
    ['Enter', 'open the run'],
    ['x', 'select the run'],
    ['Esc', 'clear, back to the runs'],
    ['d', 'copy the first diff'],
    ['1 … 9', 'open or fold a fix'],
    ['g r', 'go to the runs'],
    ['t', 'light or dark'],
    ['?', 'this list'],
    ['← →', 'move along the charts (charts focused)'],
    ['w s a d f', 'zoom, pan, fit (timeline focused)'],
  ] as const,
}
