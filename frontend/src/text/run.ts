/** The Run page, but not its charts. */
import type { RunSummary } from '../api/schema'
import { plural } from '../format'

/** A title in the middle of a sentence; a word with capitals in it is a name. */
function continued(title: string): string {
  return title.replace(/^[A-Z](?=[a-z]* )/, first => first.toLowerCase())
}

/** Whose steps they are. */
function ofWhich(loader: string | null, ranks: number): string {
  const onRanks = ranks > 1 ? ` on ${ranks === 2 ? 'both' : `all ${ranks}`} ranks` : ''
  return `${loader === null ? '' : ` of ${loader}`}${onRanks}`
}

/** A factor stays in one line. */
function joined(factor: string): string {
  return factor.replace(' ', '\u00a0')
}

/** Ranks that an amount is summed over; 1: it is that of each, or there is one. */
export interface Each {
  summed: number
}

const WAITED = { loader: 'any loader', copies: 'data or copies', data: 'data' } as const

export const run = {
  steps: (steps: string, isRunning: boolean, end: string | null, loader: string | null) =>
    `${isRunning ? `step ${steps}${end ? ` of ${end}` : ''}` : `${steps} steps`}${loader === null ? '' : ` of ${loader}`}`,
  after: (status: RunSummary['status'], age: string) =>
    ({
      running: `running ${age}`,
      finished: `finished after ${age}`,
      crashed: `crashed after ${age}`,
      lost: `no signal, ran ${age}`,
    })[status],
  endUnknown: (age: string) => `end unknown, ran ${age}`,
  ranks: (count: number) => plural(count, 'rank'),
  gpus: (count: number, name: string | null) => `${count} × ${name ?? 'GPU'}`,
  noGpu: 'no GPU',
  trackers: { wandb: 'W&B', mlflow: 'MLflow', tensorboard: 'TensorBoard' } as Readonly<
    Record<string, string>
  >,
  /** Where a cluster's scheduler has it. */
  scheduled: {
    slurm: (id: string) => `SLURM job ${id}`,
    trainJob: (name: string) => `train job ${name}`,
    namespace: (name: string) => `namespace ${name}`,
    queue: (name: string) => `queue ${name}`,
    pods: (count: number, first: string) => (count === 1 ? `pod ${first}` : plural(count, 'pod')),
  },
  restarted: (count: number) => (count === 1 ? 'restarted once' : `restarted ${plural(count, 'time')}`),
  noLoaderDetail: 'Input that does not come from a PyTorch DataLoader can be watched from the script:',
  advised: 'applies the advice of',
  overrides: 'Set for this run:',
  confidence: (level: string, basis: string) => `confidence ${level}, ${basis}`,
  /** What the headline is of, or the causes, where that is one of several loaders. The terminal says the same. */
  fromLast: (steps: string, loader: string | null, ranks: number) =>
    `${loader === null ? '' : 'causes '}from the last ${steps} steps${ofWhich(loader, ranks)}`,
  /** The headline is of more steps than the causes, and has another share than theirs. */
  overAll: (steps: string, loader: string | null, ranks: number, judged: string, share: string) =>
    `over all ${steps} steps${ofWhich(loader, ranks)} (causes from the last ${judged}, where it is ${share})`,
  notFinal: 'not final: the last steps are still being judged',
  clock: { gpu: 'device clock', host: 'host clock' },
  progress: (steps: string, needed: string) => `${steps} of ${needed} steps`,
  lost: (used: string, copies: string | null, isSoFar: boolean, isOfRun: boolean, base: string) =>
    `lost to waiting for ${isOfRun ? 'data' : 'this loader'}${copies ? ' and copies' : ''}${isSoFar ? ' so far' : ''}${copies ? `, ${copies} of it to copies` : ''}, of ${used} ${isOfRun ? base : 'in its loop'}`,
  /** The headline is of these steps alone. */
  lostSince: (from: string, judged: string, used: string, all: string, whole: string) =>
    `lost to waiting for data since step ${from}, of ${used} in the ${judged} steps that are judged; over all ${all} steps ${whole} were lost`,
  restarting: 'went by while the program was started again; in no other figure',
  paused: (share: string, used: string) => `in pauses, ${share} of ${used} in the training loop`,
  /** What hours are counted over: more than the newest steps, which are judged. No share: the verdict states one, of these. */
  base: (
    each: Each,
    loaders: number,
    steps: string | null,
    atStart: string | null,
    share: string | null,
    isBetweenPauses: boolean,
  ) =>
    `${isBetweenPauses ? 'between pauses in ' : 'in '}${loaders > 1 ? `the loops over ${loaders === 2 ? 'both' : `all ${loaders}`} loaders` : 'the training loop'}${each.summed > 1 ? `, summed over ${each.summed} ranks` : ''}${loaders > 1 || steps === null ? '' : `, over all ${steps} steps`}${atStart === null ? '' : `, most of it in the first ${atStart}, before those judged`}${share === null ? '' : `: ${share}${loaders > 1 ? ' over all steps' : ''}`}`,
  nearlyAll: 'nearly all',
  toTry: 'Worth a try',
  /** Beside an amount that is no sum. */
  onEach: (all: string | null, ranks: number) =>
    all === null ? '' : `on each rank (${all} on all ${ranks}) `,
  /** The terminal says the same (`figures.speed`). */
  rate: (isRunning: boolean, betweenPauses: string | null, ideal: string | null) =>
    `${isRunning ? 'now' : 'as it ran'}${betweenPauses === null ? '' : `, ${betweenPauses} between pauses`}${ideal === null ? '' : `${betweenPauses === null ? '; ' : ', where it would be '}${ideal}`}`,
  ideal: (least: string, waited: keyof typeof WAITED) => `${least} if no step waited for ${WAITED[waited]}`,
  onEachRank: 'on each rank ',
  /** Whose speed it is, in a run with several loaders. The terminal says the same. */
  inLoop: (loader: string, role: string | null) =>
    `in the ${role ? `${role} ` : ''}loop over ${loader} alone, `,
  measuredRate: (ideal: string | null, measured: string, batches: string) =>
    `now; with instant data ${ideal === null ? '' : `${ideal} computed, `}${measured} measured in a replay of ${batches} batches`,
  saved: (fix: string) => `saved over the same steps if you ${continued(fix)}`,
  savedAtMost: (fix: string) => `saved over the same steps if you ${continued(fix)}`,
  kept: (act: string) => `if you ${continued(act)}: the next run begins without it`,
  upTo: (amount: string) => `up to ${amount}`,
  ahead: (lastStep: string) => `more will be lost by step ${lastStep}`,
  aheadAnHour: 'will be lost per further hour of training',
  sooner: (fix: string) => `earlier finish, if you restart now and ${continued(fix)}`,
  soonerAnHour: (fix: string) =>
    `saved per further hour of training, if you restart now and ${continued(fix)}`,
  facts: 'The run',
  verdict: 'The verdict',
  loaderVerdict: 'The verdict on this loader',
  charts: 'The charts',
  workers: 'The workers',
  timeline: 'The timeline',
}

/** The switch between loaders. */
export const loaders = {
  title: 'Loaders of this run',
  sharing: 'Loaders of this run; those that one loop asks share its time',
  roles: { train: 'training', validation: 'validation', other: null },
  share: (share: string) => `its loop takes ${share} of the time in the loops`,
  /** No share: its loop takes all of that time. */
  wait: (lost: string, wait: string, used: string, share: string | null) =>
    `${lost} lost: ${wait} of ${used}${share === null ? '' : `; its loop: ${share}`}`,
  ofRun: 'the run’s verdict',
  shown: (loader: string, own: string) =>
    `Verdict, figures, charts and fixes below are about ${loader} alone. The run’s verdict, above, is about ${own}.`,
}

export const edit = {
  button: 'Edit',
  title: 'Name, tags and notes',
  name: 'Name',
  tags: 'Tags, separated by commas: imagenet, lr=3e-4',
  notes: 'Notes: Markdown, as in **bold**, `code`, lists and links',
}

export const exportMenu = {
  button: 'Export',
  formats: {
    trace: ['Trace', 'opens in Perfetto'],
    csv: ['CSV', 'one row per step'],
    parquet: ['Parquet', 'the same rows, for programs'],
    json: ['JSON', 'with settings and facts of the run'],
  },
} as const

/** What the agent leaves out of the statements that it reads. */
function unread(diff: string): string {
  const parts = [diff.includes('"…"') ? 'in quotes' : '', diff.includes('# …') ? 'in comments' : '']
  const left = parts.filter(Boolean).join(' and ')
  return left && `, without what is ${left}`
}

export const advice = {
  copyDiff: 'Copy diff',
  copySketch: 'Copy sketch',
  copyCommand: 'Copy command',
  /** Whose lines a diff shows; the terminal says the same. */
  originOfDiff: (file: string | null, sketch: string | null | undefined, diff: string) =>
    sketch ? `A sketch${file ? ` of ${file}` : ''}: ${sketch}.` : `${file ?? ''}${unread(diff)}`,
  title: 'What to do',
  crash: 'First, mend what ended the run',
  crashedAt: (file: string, line: string, scope: string) =>
    `Look at line ${line} of ${file}, in ${scope}, and at what it was called with: repair that sample or leave it out.`,
  none: 'None needed',
  noneYet: 'None yet',
  noneYetDetail: 'Advice is computed from the measured steps, as soon as there are enough.',
  noneDetail: 'No change of the loader would make this run noticeably faster.',
  atMost: (gain: string) => `${gain} at most`,
  gainUnknown: 'gain not known',
  noneFound: 'No setting helps',
  noneFoundDetail:
    'No setting was found that would make this run noticeably faster. Where loading spends its time is below; what was ruled out is in the table of signals.',
  asNow: 'no gain',
  interval: (low: string, high: string) => `${low} to ${high}`,
  ceiling: (factor: string) => `${factor} ceiling`,
  rangeLabel: (gain: string, low: string, high: string, ceiling: string) =>
    `Predicted speed-up ${gain}, interval ${low} to ${high}, ceiling ${ceiling}`,
  tryIt: 'try it:',
  unpredicted: 'gain not known',
  possible: (interval: string) => `may be ${interval}`,
  forTheRun: 'gain in the time of the loops',
  whyUnpredicted: 'Not computed:',
  order: 'Changes the order of batches for the same seed.',
  risk: 'Risk:',
  assumes: 'The interval assumes:',
  ofLoader: (loader: string) => `of ${loader}`,
  command: 'Try it without changing the code:',
  moreEvidence: (count: number, isMore: boolean) => `${count} ${isMore ? 'more ' : ''}figures`,
  moreLines: (count: number) => `${count} more lines`,
  ceilingNote: (factor: string, step: string, waited: keyof typeof WAITED, loader: string | null) =>
    `Gains do not add up. If no step waited for ${WAITED[waited]}: ${joined(factor)}${loader === null ? '' : ` in the loop over ${loader}`}, ${step} per step.`,
  /** What the same speed leaves out. */
  shorterRest: (factor: string, step: string) =>
    ` If loading slows the rest of a step, too: up to ${joined(factor)}, ${step}.`,
  refusals: 'What would not help',
}

export const shared = {
  lost: (hours: string) => `Together they lost ${hours}.`,
  others: 'The others:',
  manyOthers: (count: number) => `The ${count} others`,
}

export const signals = {
  title: 'Signals behind the verdict',
  all: (count: number) => `Show all ${count}`,
  allRuledOut: 'nothing out of the ordinary',
  columns: { signal: 'Signal', measured: 'Measured', healthy: 'Healthy', reading: 'What it means' },
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
  was: (value: string) => `was ${value} in the previous run`,
  batchOf: (tensors: string | null, bytes: string) => (tensors ? `${tensors}, ${bytes}` : bytes),
}

export const runFacts = {
  title: 'Command, versions and configuration',
  compared: 'compared with the previous run of this job,',
  unset: 'not set',
}

export const ranks = {
  title: 'Rank by rank',
  detail: 'data wait',
  choose: 'Rank whose charts are shown',
  cells: 'One cell per rank, filled by its share of data wait. Select one to see its charts.',
  stragglers: (slow: readonly number[]) =>
    `${slow.length === 1 ? 'Rank' : 'Ranks'} ${slow.join(', ')}: waited for by all others in every step.`,
}

export const footnote = {
  agent: (version: string) => `Agent ${version}`,
  python: (version: string) => `Python ${version}`,
  torch: (version: string) => `torch ${version}`,
  overhead: (us: string, share: string | null) =>
    `measuring costs ${us} per step${share ? ` (${share})` : ''}`,
  overheadAtFirst: (us: string, steps: number) =>
    `measuring took ${us} in the first ${plural(steps, 'step')}, its start included`,
  nothingDropped: 'nothing recorded was dropped',
  dropped: {
    dropped_steps: (n: number) => `${plural(n, 'step')} overwritten before they were read`,
    dropped_batches: (n: number) => `${plural(n, 'batch record')} overwritten before they were read`,
    dropped_windows: (n: number) => `${plural(n, 'window')} dropped because the spool was full`,
    rejected_windows: (n: number) => `${plural(n, 'window')} rejected by the service`,
    agent_errors: (n: number) => `${plural(n, 'internal error')} of the agent`,
  },
  notMeasured: 'Not measured',
  rest: (hosts: number, reasons: number) =>
    [
      hosts > 0 ? (hosts === 1 ? 'The host' : `The ${hosts} hosts`) : '',
      reasons > 0 ? 'what was not measured' : '',
    ]
      .filter(Boolean)
      .join(', and ')
      .replace(/^w/, 'W'),
  cores: (usable: string, all: string | null) => `${usable}${all ? ` of ${all}` : ''} CPU cores`,
  memory: (size: string) => `${size} memory`,
  shm: (size: string) => `${size} /dev/shm`,
  numa: (nodes: number) => plural(nodes, 'NUMA node'),
  openFiles: (count: string) => `limit of ${count} open files`,
  launched: (by: string) => `launched by ${by}`,
}
