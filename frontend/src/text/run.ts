/** The Run page, but its charts. */
import type { Setting, Status } from '../api/names'
import { formatSetting, plural } from '../format'

export const run = {
  steps: (steps: string, isRunning: boolean, end: string | null) =>
    isRunning ? `step ${steps}${end ? ` of ${end}` : ''}` : `${steps} steps`,
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
  lost: (used: string, copies: string | null, isRunning: boolean) =>
    `lost to waiting for data${copies ? ' and copies' : ''}${isRunning ? ' so far' : ''}, ${copies ? `${copies} of it to copies, ` : ''}of ${used} used`,
  rate: (ideal: string) => `now; ${ideal} if no step waited for data`,
  measuredRate: (ideal: string | null, measured: string, batches: string) =>
    `now; with instant data ${ideal === null ? '' : `${ideal} computed, `}${measured} measured by a replay of ${batches} batches`,
  saved: 'less for the same steps, with the first fix',
  ahead: (lastStep: string) => `more will be lost by step ${lastStep}`,
  aheadAnHour: 'will be lost in each further hour of training',
  sooner: 'sooner done, if it were restarted now with the first fix',
  soonerAnHour: 'of each further hour saved, if it were restarted now with the first fix',
  facts: 'The run',
  verdict: 'The verdict',
}

export const edit = {
  button: 'Edit',
  title: 'Name, tags and notes',
  name: 'Name',
  tags: 'Tags, divided by commas: imagenet, lr=3e-4',
  notes: 'Notes',
}

export const exportMenu = {
  button: 'Export',
  formats: {
    trace: ['Trace', 'opens in Perfetto'],
    csv: ['CSV', 'a row a step'],
    parquet: ['Parquet', 'the same, for programs'],
    json: ['JSON', 'with the run’s facts'],
  },
} as const

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

export const signals = {
  title: 'Why we say so',
  columns: { signal: 'Signal', measured: 'Measured', healthy: 'Healthy', reading: 'Reading' },
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
  was: (value: string) => `was ${value} in the run before`,
  batchOf: (tensors: string | null, bytes: string) => (tensors ? `${tensors}, ${bytes}` : bytes),
}

export const runFacts = {
  title: 'Command, versions and configuration',
  compared: 'compared with the run before of this job,',
  copy: 'Copy',
  unset: 'not set',
}

export const ranks = {
  title: 'Rank by rank',
  detail: 'data wait',
  choose: 'Rank whose charts are shown',
  cells: 'A cell a rank, filled by the share it waits. Choose one to see its charts.',
  columns: ['Rank', 'Data wait'],
  stragglers: (slow: readonly number[]) =>
    `${slow.length === 1 ? 'Rank' : 'Ranks'} ${slow.join(', ')}: much slower than the others, who wait for the slowest in every step.`,
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
