/** Where loading spends its time, on the page of a run. */
import type { Hotspot, HotspotsPage } from '../api/schema'
import { plural } from '../format'

type Sampled = HotspotsPage['of']

export const stages: Record<Hotspot['stage'], { name: string; is: string }> = {
  getitem: { name: 'getitem', is: 'the data set' },
  collate: { name: 'collate', is: 'joining samples' },
  other: { name: 'other', is: 'neither data set nor collate' },
  step: { name: 'step', is: 'the training thread between batches' },
}

/** What a share is a share of. */
const WHOLE: Record<Sampled, string> = { loading: 'loading', step: 'the time between batches' }

export const hotspots = {
  what: 'The hotspots',
  titles: {
    loading: 'Where loading spends its time',
    step: 'Where the training thread spends its time',
  } satisfies Record<Sampled, string>,
  sampled: 'What is sampled',
  choices: { loading: 'Loading', step: 'Between batches' } satisfies Record<Sampled, string>,
  detail: (of: Sampled, loader: string, ranks: string, looks: string) =>
    `${of === 'step' ? 'between batches of ' : ''}${loader}${ranks}, ${looks} looks`,
  ofRanks: (rank: number | null, count: number) => {
    if (rank !== null) return `, rank ${rank}`
    return count > 1 ? `, all ${count} ranks` : ''
  },
  order: 'Lines of your program, or functions by what they do themselves or in total',
  by: { line: 'Lines', self: 'Self', total: 'Total' },
  columns: { line: 'Line', function: 'Function', stage: 'Stage', share: 'Share' },
  own: 'your code',
  lineIs: 'with what the line calls',
  shares: [
    ['Self', 'in the function itself'],
    ['Total', 'with all that it calls'],
  ],
  through: 'through',
  /** `isUnsure`: it may be what the lines before the call do. */
  within: (name: string, isUnsure = false) => `${isUnsure ? 'or what precedes it, ' : ''}in ${name}`,
  looks: (count: string) => `seen in ${count} looks`,
  find: (name: string) => `Find ${name} in the flame graph`,
  all: (count: number) => `Show all ${count}`,
  fewer: 'Show fewer',
  export: 'Export',
  stacks: 'the stacks',
  formats: {
    collapsed: ['Collapsed stacks', 'for flamegraph.pl, inferno, Pyroscope'],
    speedscope: ['speedscope JSON', 'opens in speedscope.app'],
  },
  fewLooks: (count: string) => `only ${count} looks: shares say little`,
  tooFew: (looks: number) => (looks === 0 ? 'not sampled' : `${plural(looks, 'look')}: too few`),
  isRunning:
    'Each worker is sampled for one second in twenty, in short bursts, and more often at first: shares come while it trains.',
  hasEnded: 'The run ended before it was sampled more often.',
} as const

export const flame = {
  title: 'Flame graph',
  detail: 'width: share; colour: share in the function itself; bold: your code',
  label: (of: Sampled, loader: string, looks: string) =>
    `Flame graph of ${WHOLE[of]}, ${loader}, ${looks} looks. Arrow keys move along the calls, Enter zooms in, Escape zooms out.`,
  search: 'Find a function or file',
  found: (of: Sampled, share: string, places: number) =>
    places === 0 ? 'Found nowhere.' : `Found in ${plural(places, 'place')}: ${share} of ${WHOLE[of]}.`,
  all: { loading: 'All of loading', step: 'All between batches' } satisfies Record<Sampled, string>,
  stage: (name: string, is: string) => `${name}: ${is}`,
  notKept: (share: string) => `${share} in stacks that were seen too rarely to be kept`,
  rest: (count: number) => `${count} more`,
  restOf: (count: number, caller: string) =>
    `${plural(count, 'function')} called by ${caller}, each too narrow to be drawn`,
  share: (of: Sampled, share: string) => `${share} of ${WHOLE[of]}`,
  own: (share: string) => `${share} in itself`,
  looks: (count: string) => `${count} looks`,
  notSeen:
    'Of loading, the thread that loads is seen. Threads and processes that the data set starts, and threads within C code that run without the interpreter lock, are not: their time is at the line that waits for them.',
  noSampler: 'Nor is the sampler: it runs in the training process, which is looked at with --profile alone.',
  ofAgent: (share: string) => `${share} of all looks found Underfed itself: in no share here.`,
  hint: 'A press or Enter zooms in, Escape out; arrow keys lead along the calls.',
} as const

export const slowSamples = {
  title: 'Slowest samples',
  detail: (loader: string) => `${loader}, known to about a tenth of a second`,
  noFile: 'none seen open',
  runqueue: 'Waiting for a core',
} as const
