/** The Runs page: the week, the filters, the table, tags, retention. */
import type { ServiceInfo } from '../api/schema'
import { plural, ZONE } from '../format'
import { roundedWithin } from './shared'

export const empty = {
  title: 'No runs yet.',
  titleOf: (project: string) => `No runs of ${project} yet.`,
  lead: 'Start your training with underfed run. The run appears here with its first steps.',
  command: 'underfed run -- python train.py',
  watch: 'Or watch one loader in the script:',
  demo: 'To see one first, with a net that waits for its data:',
  demoCommand: 'underfed demo',
  elsewhere: 'With the address of this service:',
  withToken: 'With the address of this service and a token that may send runs (underfed token create):',
  address: ({ url, token_required, project }: ServiceInfo) =>
    [
      `UNDERFED_URL=${url}`,
      token_required ? 'UNDERFED_TOKEN=…' : '',
      project ? `UNDERFED_PROJECT=${project}` : '',
      'underfed run -- python train.py',
    ]
      .filter(Boolean)
      .join(' '),
  listening: (url: string, since: string) => `Listening on ${url} since ${since}.`,
}

export const week = {
  none: 'No training was judged in the last seven days.',
  noneFound: 'No run of this list was judged in the last seven days.',
  before: 'In seven days ',
  beforeFound: 'In these runs, in seven days ',
  lost: (lost: string, used: string) => `${lost} of ${used}`,
  onGpus: (lost: string) => `, of them ${lost},`,
  after: (share: string, change: string) => ` went to waiting for data and copies: ${share}${change}.`,
  up: (share: string) => `, up from ${share}`,
  down: (share: string) => `, down from ${share}`,
  same: ', as in the week before',
  noCause: 'no single cause',
  causes: (noun: string) => `${noun} lost by cause, this week`,
  days: (onGpu: boolean) => `${onGpu ? 'GPU time' : 'time'} lost per day`,
  causeTitle: (hours: string, cause: string) => `${hours} ${cause}`,
  otherCauses: 'other causes',
  day: (day: string, lost: string, used: string) => `${day}, ${ZONE}: ${lost} lost of ${used}`,
  lastWeek: 'last week',
  thisWeek: 'this week',
}

export const runs = {
  caption: 'Runs',
  searchLabel: 'Search runs',
  searchHint: 'Name, stall>20%',
  searchRefused: (why: string) => `The search was not understood: ${why.replace(/^q, character \d+: /, '')}.`,
  searchHelp: 'For example:',
  searchExamples: ['bound:data', 'stall>20%', 'num_workers<8', 'slow storage'],
  searchWords:
    'Words are looked for in names, ids, projects, users, hosts, tags and causes; all of them must be found. For figures there are keys:',
  notArchived: 'Not archived',
  archived: { true: 'Archived only', any: 'Including archived' },
  isArchived: 'archived',
  statusGroup: 'Status',
  all: 'All',
  verdictLabel: 'Verdict',
  projectLabel: 'Project',
  tagLabel: 'Tag',
  timeLabel: 'Time',
  times: { '1d': 'last 24 hours', '7d': 'last 7 days', '30d': 'last 30 days' } as Readonly<
    Record<string, string>
  >,
  chips: 'Filters in the search',
  removeFilter: (words: string) => `Remove filter ${words}`,
  onDay: (day: string) => `running on ${day}`,
  or: ' or ',
  columnsMenu: 'Columns',
  columnsFitting: 'As many as fit.',
  columnsChosen: 'Your choice, saved in this browser.',
  columnsReset: 'Show as many as fit',
  moreMenu: 'More actions',
  copyCsv: 'Copy as CSV',
  copiedCsv: (count: number) => `${plural(count, 'run')} copied.`,
  savedCsv: (count: number) => `${plural(count, 'run')} saved.`,
  notRead: 'The runs could not be read.',
  retention: (project: string) => `Retention of ${project}`,
  filterTag: (tag: string) => `Only runs tagged ${tag}`,
  count: (found: number, all: number | null) =>
    all === null || found >= all
      ? plural(found, 'run')
      : `${found.toLocaleString('en')} of ${plural(all, 'run')}`,
  columns: {
    run: 'Run',
    status: 'Status',
    verdict: 'Verdict',
    // Not the share of the run that a verdict may begin with.
    wait: 'Wait',
    spark: 'Last hour',
    // The week above the table counts seven days.
    lost: 'Lost, whole run',
    lostGpu: 'GPU lost, whole run',
    gain: 'Fix gains',
    step: 'Step',
    rate: 'Samples/s',
    steps: 'Steps',
    ranks: 'Ranks',
    gpus: 'GPUs',
    gpu: 'GPU',
    workers: 'Workers',
    host: 'Host',
    user: 'User',
    project: 'Project',
    started: `Started, ${ZONE}`,
  },
  forCopies: (share: string | null) => (share === null ? 'for copies' : `${share} for copies`),
  forData: (share: string) => `for data ${share}`,
  waitOfCopies: (copies: string | null, data: string) =>
    `Copies to the device hold it up${copies === null ? '' : ` for ${copies} of a step`}, waiting for data for ${data}.`,
  gainedWord: 'gained',
  observedWord: 'observed',
  observed: (factor: string) => `observed ${factor}: no gain is certain`,
  tryIt: 'try it',
  toTry: (change: string) => `${change}: no gain is promised, it is a change to try`,
  fix: (change: string, gain: string) => `${change}: ${gain}`,
  fixOfLoop: (change: string, loader: string, gain: string, ofRun: string) =>
    `${change}: the loop over ${loader} ${gain}, which makes the run ${ofRun}`,
  gained: (factor: string) => `gained ${factor}`,
  moved: (moves: number, fresh: number) =>
    [fresh > 0 ? plural(fresh, 'new run') : '', moves > 0 ? `${plural(moves, 'row')} would move` : '']
      .filter(Boolean)
      .join(', '),
  resort: 'Sort again',
  noMatch: 'No run matches',
  without: 'Without',
  clear: 'Clear filters',
  list: 'The list of runs',
}

export const listMenus = {
  byJob: 'By job',
  views: 'Views',
}

export const selecting = {
  select: (name: string) => `Select ${name}`,
  selectAll: 'Select all runs in the list',
  selection: 'Selected runs',
  selectEvery: (count: number) => `Select all ${count.toLocaleString('en')}`,
  selected: (count: number) => `${plural(count, 'run')} selected`,
  clear: 'Clear',
}

export const tagging = {
  button: 'Tag',
  title: (count: number) => `Tags of ${plural(count, 'run')}`,
  present: 'Their tags: press one to remove it',
  remove: (tag: string) => `Remove ${tag}`,
  on: (count: number, all: number) => `${count} of ${all}`,
  add: 'Add to all',
  hint: 'imagenet, team=vision',
}

export const retention = {
  title: (project: string) => `Retention of ${project}`,
  used: (rows: string, overviews: string) =>
    `Its runs use ${rows} for single steps and ${overviews} for overviews.`,
  days: 'Keep single steps for',
  daysUnit: 'days',
  size: 'Storage limit',
  sizeUnit: 'GB',
  noLimit: 'no limit',
  asService: (what: string) => `service default: ${what}`,
  own: (unit: string) => `this many ${unit}:`,
  precision: 'Store durations',
  exact: 'exactly',
  rounded: (bits: number) => `rounded to within ${roundedWithin(bits)}`,
  detail:
    'Beyond these limits the oldest single steps are deleted for good. Overviews and verdicts stay. Rounding applies to steps that arrive from now on.',
  never: 'never',
  ages: { archive_after_us: 'Archive runs after', delete_after_us: 'Delete runs after' },
  initially: { archive_after_us: 90, delete_after_us: 365 },
  agesDetail:
    'So long after the last step, edit or restore. Deleted runs can be restored for a while; what they lost stays counted.',
  preview: 'What would that do now?',
  due: (archived: number, deleted: number, names: readonly string[]) =>
    archived + deleted === 0
      ? 'No run is due.'
      : `It would archive ${plural(archived, 'run')} and delete ${deleted.toLocaleString('en')}: ${names.join(', ')}${archived + deleted > names.length ? ', …' : '.'}`,
  onlyAdmins: 'To change this takes the scope admin.',
}
