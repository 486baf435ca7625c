/** What statuses and causes are called. */
import type { Cause, Status } from '../api/names'

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
