/** What every page says: the frame, the words for statuses and causes, what is wrong, keys. */
import type { Cause, ServiceInfo, Status } from '../api/names'
import { formatAge, plural } from '../format'

export const text = {
  product: 'Underfed',
  runs: 'Runs',
  compare: 'Compare',
  hosts: 'Hosts',
  team: 'Team',
  themes: { light: 'Light', dark: 'Dark', system: 'System' },
  themeTitle: (theme: string) => `Colours: ${theme.toLowerCase()}. Press for the next (t)`,
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

export const panelMenu = {
  title: (panel: string) => `Take out: ${panel}`,
  picture: 'Copy as image',
  csv: 'Save as CSV',
  link: 'Copy link',
  copied: 'The image is in the clipboard.',
  saved: 'The image was saved: this browser lets no page copy one here.',
  copiedLink: 'The link is in the clipboard.',
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
export function waiter(gpus: number | null): string {
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
  copyLastWords: 'Copy its last words',
  crashedSilently: 'The verdict is of the steps before. It left no last words.',
  /** By loader and rank, each of its workers once. */
  died: (places: ReadonlyMap<string, ReadonlySet<number>>) => {
    const named = [...places].map(([place, workers]) => `${[...workers].join(', ')} of ${place}`)
    const count = [...places.values()].reduce((sum, workers) => sum + workers.size, 0)
    return `${count === 1 ? 'Worker' : 'Workers'} ${named.join('; ')} died.`
  },
  diedPlace: (loader: string, rank: number) => `${loader}${rank > 0 ? ` on rank ${rank}` : ''}`,
  diedDetail: (facts: readonly string[]) =>
    `${facts.join(', ')}: gone without a word while training lived on. So the kernel ends a process when memory runs out.`,
  diedProcess: (pid: number) => `process ${pid}`,
  diedAfter: (age: string) => `${age} into the run`,
  diedEpoch: (epoch: number) => `in epoch ${epoch}`,
  diedMemory: (bytes: string) => `last seen with ${bytes}`,
  diedLast: (worker: number, place: string) => `The last of them: worker ${worker} of ${place},`,
  trouble: (what: string) => `${what} could not be read.`,
  request: (requestId: string) => `Request ${requestId}.`,
  ours: 'This page stumbled.',
  oursDetail:
    'The runs are safe: only their display failed. Reload the page; if it stays, report the details.',
  reload: 'Reload',
}

export const empty = {
  title: 'No runs yet.',
  lead: 'Watch the loader in your training script. The run appears here with its first steps.',
  snippet: 'import underfed\nloader = underfed.watch(loader)',
  elsewhere: 'Start the script with the address of this service:',
  titleOf: (project: string) => `No runs of ${project} yet.`,
  withToken:
    'Start the script with the address of this service and a token that may post, made by underfed token create:',
  address: ({ url, token_required, project }: ServiceInfo) =>
    [
      `UNDERFED_URL=${url}`,
      token_required ? 'UNDERFED_TOKEN=…' : '',
      project ? `UNDERFED_PROJECT=${project}` : '',
      'python train.py',
    ]
      .filter(Boolean)
      .join(' '),
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

export const keys = {
  title: 'Keyboard shortcuts',
  on: 'Single-key shortcuts are on',
  table: [
    ['/', 'search runs'],
    ['j k', 'next, previous run'],
    ['Enter', 'open the run'],
    ['x X', 'select the run; all since the last one'],
    ['c', 'compare the selected runs, or this one'],
    ['Esc', 'clear, back to the runs'],
    ['d', 'copy the first diff'],
    ['1 … 9', 'open or fold a fix'],
    ['g r', 'go to the runs'],
    ['g c', 'go to the comparison'],
    ['g h', 'go to the hosts'],
    ['g t', 'go to the team'],
    ['t', 'light, dark, as the system'],
    ['?', 'this list'],
    ['+ - 0', 'zoom the charts in, out, to the whole run'],
    ['[ ]', 'earlier, later steps'],
    ['← →', 'move along the charts (charts focused)'],
    ['w s a d f', 'zoom, pan, fit (timeline focused)'],
    [', .', 'the batch before, the next one (timeline focused)'],
  ] as const,
}

/** Half of the last of so many significant bits, at worst. */
export function roundedWithin(bits: number): string {
  const percent = 100 / 2 ** bits
  const digit = 10 ** Math.floor(Math.log10(percent))
  return `${Number((Math.ceil(percent / digit) * digit).toPrecision(1))} %`
}
