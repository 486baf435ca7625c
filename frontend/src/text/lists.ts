/** What comes on demand in the list of runs: jobs, saved views, columns of the configuration. */
import { plural, ZONE } from '../format'

export const configColumns = {
  title: 'Configuration',
  search: 'Search keys',
}

export const views = {
  group: 'What a line is',
  runs: 'Runs',
  byJob: 'By job',
  none: 'No view is saved yet. A view is this list under a name: its filters, sorting, columns and grouping.',
  save: 'Save this list as a view…',
  saveTitle: 'Save this list as a view',
  saveDetail: 'Its filters, sorting, columns and grouping, for everybody who uses this service.',
  name: 'Name',
  rename: 'Rename',
  renameTitle: (name: string) => `Rename “${name}”`,
  update: 'Set to this list',
  delete: 'Delete',
  more: (name: string) => `Change “${name}”`,
  saved: (name: string) => `The view “${name}” is saved.`,
  updated: (name: string) => `The view “${name}” is now this list.`,
  deleted: (name: string) => `The view “${name}” is deleted.`,
  what: 'The views',
}

export const jobs = {
  caption: 'Jobs',
  what: 'The jobs',
  columns: {
    job: 'Job',
    runs: 'Runs',
    verdict: 'Newest verdict',
    wait: 'Wait',
    trend: 'Wait, run by run',
    lost: 'Time lost',
    lostGpu: 'GPU time lost',
    step: 'Step',
    started: `Newest, ${ZONE}`,
  },
  open: (name: string) => `Show the runs of ${name}`,
  trendOf: (count: number) => `data wait of the newest ${plural(count, 'run')}`,
  more: 'Show more',
  all: (count: number) => `All ${count.toLocaleString('en')} runs as a list`,
}
