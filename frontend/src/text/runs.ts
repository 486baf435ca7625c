/** The Runs page: the week, the table, what can be done to runs, how long they are kept. */

import { plural } from '../format'
import { roundedWithin } from './common'

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
