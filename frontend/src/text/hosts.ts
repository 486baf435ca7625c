/** The Hosts page, and the host panels of a run. */
import { plural } from '../format'

export const hosts = {
  what: 'The hosts',
  caption: 'Hosts',
  all: 'All hosts',
  none: 'No host was seen in the last seven days.',
  noneDetail: 'A host appears here with the first run on it.',
  sentence: (live: number, all: number) =>
    live === 0
      ? `No run reports from any of ${plural(all, 'host')}.`
      : live === all
        ? `Runs report from ${all === 1 ? 'the one host' : `all ${plural(all, 'host')}`}.`
        : `Runs report from ${live} of ${plural(all, 'host')}.`,
  competing: (names: string) => `On ${names} they compete.`,
  bound: (project: string) => `Only runs of ${project} are told apart; all else on a host counts as others.`,
  columns: {
    host: 'Host',
    gpus: 'GPUs',
    cores: 'Cores',
    memory: 'Memory',
    shm: '/dev/shm',
    disk: 'Disk read',
    network: 'Network in',
    runs: 'Runs now',
  },
  lastSeen: (day: string) => `last seen ${day}`,
  lastRun: 'last run',
  earlier: (count: number) => plural(count, 'earlier run'),
  noGpu: 'none',
  gpu: (index: number, busy: string, wait: string | null) =>
    `GPU ${index}: busy ${busy}${wait === null ? '' : `, its run waits ${wait} of the time`}`,
  own: 'runs',
  others: 'others',
  idle: 'idle',
  ofUsed: (used: string, limit: string) => `${used} of ${limit}`,
  most: (most: string) => `most seen here: ${most}`,
  noMost: 'the most seen here is not known yet',
  legend: { own: 'GPU busy, cores of runs', wait: 'GPU’s run waits for data', others: 'others' },
  history: 'What it did',
  historyOf: (name: string) => `${name} meanwhile`,
  range: 'Time shown',
  ranges: [
    ['3600', 'Last hour'],
    ['21600', '6 hours'],
    ['86400', '1 day'],
    ['604800', '7 days'],
  ] as const,
  spans: 'Runs on it',
  chooseHost: 'Host',
}
