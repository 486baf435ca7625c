/** The Hosts page. */
import { plural, ZONE } from '../format'

export const hosts = {
  what: 'The hosts',
  caption: 'Hosts',
  all: 'All hosts',
  none: 'No host was seen in the last seven days.',
  noneDetail: 'A host appears here with the first run on it.',
  sentence: (live: number, all: number) =>
    live === 0
      ? `No run is active on any of ${plural(all, 'host')}.`
      : live === all
        ? `Runs are active on ${all === 1 ? 'the one host' : all === 2 ? 'both hosts' : `all ${plural(all, 'host')}`}.`
        : `Runs are active on ${live} of ${plural(all, 'host')}.`,
  competing: (names: string) => `On ${names} they compete.`,
  bound: (project: string) =>
    `You see runs of ${project} only; everything else on a host counts as other processes.`,
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
  silent: {
    title: 'Hosts without a run now',
    detail: (count: number) => `${count}, seen in the last seven days`,
    columns: ['Host', 'Hardware', 'Last seen', 'Last run'],
    all: (count: number) => `Show all ${count}`,
    alike: (first: string, more: number) => `${first} and ${more} more`,
  },
  lastSeen: (day: string) => `last seen ${day}`,
  lastRun: 'last run',
  noGpu: 'none',
  gpu: (index: number, busy: string, wait: string | null) =>
    `GPU ${index}: busy ${busy}${wait === null ? '' : `, its run waits ${wait} of the time`}`,
  own: 'by runs',
  others: 'others',
  idle: 'idle',
  ofUsed: (used: string, limit: string) => `${used} of ${limit}`,
  most: (most: string) => `highest seen on this host: ${most}`,
  noMost: 'the highest rate of this host is not known yet',
  legend: {
    compute: 'GPU busy, cores used by runs',
    hatch: 'run on the GPU waits for data',
    'load-runqueue': 'other processes',
  },
  history: `Use over time, ${ZONE}`,
  range: 'Time shown',
  ranges: [
    ['3600', 'Last hour'],
    ['21600', '6 hours'],
    ['86400', '1 day'],
    ['604800', '7 days'],
  ] as const,
}
