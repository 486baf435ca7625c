/** What more than one page says. Verdicts and advice are the service's own words. */
import { formatAge, formatKept, plural } from '../format'

export const text = {
  product: 'Underfed',
  runs: 'Runs',
  compare: 'Compare',
  hosts: 'Hosts',
  team: 'Team',
  alerts: 'Alerts',
  copy: 'Copy',
  copied: 'Copied',
  copyDetails: 'Copy details',
  close: 'Close',
  save: 'Save',
  cancel: 'Cancel',
  remove: 'Remove',
  add: 'Add',
  asTable: 'As table',
  asChart: 'As chart',
  notMeasured: 'not measured',
  endUnknown: 'end unknown',
  perStep: (share: string) => `${share} per step`,
  loading: 'Loading',
  docs: 'docs',
  snippet: 'import underfed\nloader = underfed.watch(loader)',
}

/** Of names too many for a line. */
export const several = {
  more: (first: string, more: number) => `${first} and ${more.toLocaleString('en')} more`,
}

export const panelMenu = {
  title: (panel: string) => `Export: ${panel}`,
  picture: 'Copy as image',
  csv: 'Save as CSV',
  link: 'Copy link',
  copied: 'The image is in the clipboard.',
  saved: 'The image was saved as a file: this browser does not let this page copy images.',
  copiedLink: 'The link is in the clipboard.',
}

/** What can be done to runs, in the list and on a run’s page. */
export const actions = {
  archive: 'Archive',
  unarchive: 'Unarchive',
  delete: 'Delete',
  undo: 'Undo',
  tagged: (count: number) => `${plural(count, 'run')} tagged.`,
  archived: (count: number) => `${plural(count, 'run')} archived.`,
  unarchived: (count: number) => `${plural(count, 'run')} unarchived.`,
  deleted: (count: number, keptUs: number | null) =>
    `${plural(count, 'run')} deleted.${keptUs === null ? '' : ` ${count === 1 ? 'It' : 'They'} can be restored for ${formatKept(keptUs)}.`}`,
  restored: (count: number) => `${plural(count, 'run')} restored.`,
  restore: 'Restore',
  progress: (done: number, all: number) => `${done} of ${plural(all, 'run')} done.`,
  failed: (why: string) => `Not done: ${why}.`,
}

/** What is said before runs are deleted, and of those that were. */
export const deleting = {
  title: (count: number) => `Delete ${plural(count, 'run')}?`,
  button: (count: number) => `Delete ${plural(count, 'run')}`,
  running: (count: number) =>
    count === 1
      ? 'One of the selected runs is still running and stays.'
      : `${count} of the selected runs are still running and stay.`,
  undo: (count: number, keptUs: number | null) =>
    `${count === 1 ? 'It' : 'They'} can be restored${keptUs === null ? '' : ` for ${formatKept(keptUs)}`} from the list of deleted runs. After that everything recorded of ${count === 1 ? 'it' : 'them'} is removed for good.`,
  stays: (count: number, lost: string | null) =>
    lost === null
      ? `The figures of the week and the team stay as they are.`
      : `The ${lost} that ${count === 1 ? 'it' : 'they'} lost stay in the figures of the week and the team.`,
  list: 'Deleted runs',
  none: 'No deleted run can be restored.',
  notDeleted: 'Runs that are not deleted',
  filter: 'deleted',
  lead: (keptUs: number | null) =>
    `Deleted runs${keptUs === null ? '' : ` are kept for ${formatKept(keptUs)}, then removed for good`}. The hours that they lost stay in the figures of the week and the team.`,
  at: (at: string, until: string | null) => `deleted ${at}${until === null ? '' : `, kept until ${until}`}`,
}

export const banner = {
  gone: 'The service does not answer.',
  intercepted: 'Something else answers in place of the service.',
  interceptedDetail: 'A proxy in between may want you to sign in again: reload the page.',
  goneDetail: (retryInS: number, asOf: string | null) =>
    `${retryInS > 0 ? `Trying again in ${retryInS}\u00a0s.` : 'Trying again now.'}${asOf ? ` What you see is as of ${asOf}.` : ''}`,
  tryNow: 'Try now',
  noSignal: (host: string, ageS: number) => `No data from ${host} for ${formatAge(ageS)}.`,
  endUnknown: (host: string, ageS: number) =>
    `How this run ended is unknown: no data from ${host} for ${formatAge(ageS)}.`,
  endUnknownDetail: (asOf: string) =>
    `Its end was not recorded, as when a host loses power or a container is removed. Everything below is as of ${asOf}.`,
  noSignalDetail: (asOf: string) =>
    `The training may still be running: check the host and the network. Everything below is as of ${asOf}.`,
  crashed: (steps: string) => `Crashed after ${steps} steps.`,
  crashedDetail: 'The verdict is about the steps before the crash. The error:',
  copyError: 'Copy the error',
  wholeError: 'The whole error',
  crashedSilently: 'The verdict is about the steps before the crash. No error was recorded.',
  died: (places: readonly { place: string; workers: readonly number[] }[]) => {
    const named = places.map(({ place, workers }) => `${workers.join(', ')} of ${place}`)
    const isOne = places.flatMap(({ workers }) => workers).length === 1
    return `${isOne ? 'Worker' : 'Workers'} ${named.join('; ')} died.`
  },
  diedPlace: (loader: string, rank: number) => `${loader}${rank > 0 ? ` on rank ${rank}` : ''}`,
  diedDetail: (facts: readonly string[]) =>
    `${facts.join(', ')}: ended without an exception while the training went on. This is how the kernel kills a process when memory runs out.`,
  diedProcess: (pid: number) => `process ${pid}`,
  diedAfter: (age: string) => `${age} into the run`,
  diedEpoch: (epoch: number) => `in epoch ${epoch}`,
  diedMemory: (bytes: string) => `last seen with ${bytes}`,
  diedLast: (worker: number, place: string) => `The last of them: worker ${worker} of ${place},`,
  trouble: (what: string) => `${what} could not be read.`,
  request: (requestId: string) => `Request ${requestId}.`,
  ours: 'This page failed.',
  oursDetail:
    'The runs themselves are not affected. Reload the page; if the error comes back, please report its details.',
  ourPart: 'This part of the page failed.',
  ourPartDetail: 'The rest of it and the runs themselves are not affected.',
  tryAgain: 'Try again',
  notLoaded: 'This page could not be loaded.',
  notLoadedDetail:
    'The service was restarted or updated, or does not answer. It is loaded again as soon as the service answers.',
  reload: 'Reload',
}

export const anatomy = {
  now: (loader: string | null) => (loader === null ? 'Mean step' : `Mean step of ${loader}`),
  withChange: (setting: string) => `With ${setting}`,
  within: (parts: readonly string[]) => `Of the data wait: ${parts.join(', ')}.`,
  idle: (us: string) => `${us} with the GPU idle`,
  sampler: (us: string) => `${us} in the sampler`,
  part: (us: string, part: string) => `${us} ${part}`,
}

export const ledger = {
  title: 'What the advice gained',
  predicted: 'predicted',
  observed: 'observed',
  inside: 'A hit: inside the predicted interval.',
  wide: 'Inside the predicted interval, which was too wide to be missed: no hit.',
  outside: 'A miss: outside the predicted interval.',
  unpredicted: 'No gain was predicted: neither a hit nor a miss.',
  pending: 'Not judged yet.',
  before: 'Before:',
  after: 'After:',
  tuned: 'Measured while it trained, by',
  thisRun: 'this run',
}

export const comparing = {
  with: 'Compare with…',
  selected: 'Compare',
  tooFew: 'select one more',
  tooMany: 'eight at most',
}

/** What waits: a run without a GPU must not speak of one. */
export function waiter(gpus: number | null): string {
  return gpus ? 'GPU' : 'training loop'
}

export const hourNoun = (onGpu: boolean): 'GPU-hour' | 'hour' => (onGpu ? 'GPU-hour' : 'hour')

/** Half of the last of so many significant bits, at worst. */
export function roundedWithin(bits: number): string {
  const percent = 100 / 2 ** bits
  const digit = 10 ** Math.floor(Math.log10(percent))
  return `${Number((Math.ceil(percent / digit) * digit).toPrecision(1))}%`
}
