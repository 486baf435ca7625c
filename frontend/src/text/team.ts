/** The Team page. */
import { plural } from '../format'

export const team = {
  what: 'The team',
  none: 'No training was judged in the last seven days.',
  noneDetail: 'Hours lost, by person, project, data set and host, stand here with the first verdict.',
  nothingLost: (used: string) => `Nothing of ${used} was lost to waiting this week.`,
  recoverable: (hours: string) => `${hours}`,
  sentence: {
    before: 'Of ',
    lost: (lost: string) => `${lost} lost this week, `,
    after: ' would come back with the best advice of each run.',
    none: (lost: string) =>
      `${lost} were lost to waiting this week; of none is it known what advice would save.`,
  },
  interval: (low: string, high: string) => `Between ${low} and ${high}, by the intervals of the predictions.`,
  startWith: 'Start with ',
  startDetail: (hours: string) => `: ${hours} of it.`,
  groups: {
    users: 'People',
    projects: 'Projects',
    datasets: 'Data sets',
    mounts: 'Mounts',
    hosts: 'Hosts',
  },
  legend: ['comes back', 'lost'],
  columns: ['Name', 'Runs', 'Lost', 'Of used', 'Recoverable', 'Low', 'High'],
  unknown: 'not known',
  lost: (hours: string) => `${hours} lost`,
  back: (hours: string) => `${hours} back`,
  noBack: 'no gain predicted',
  shared: 'Causes that runs share',
  hits: 'How predictions came true',
  hitColumns: ['Advice', 'Proven', 'Within the interval', 'Median error'],
  allAdvice: 'all',
  noHits: 'No later run carried an advice yet. Try one: the command stands beside it on the run’s page.',
  within: (inside: number, predicted: number) => (predicted === 0 ? '–' : `${inside} of ${predicted}`),
  more: (count: number) => `${plural(count, 'more')}`,
}
