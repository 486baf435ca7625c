/** Runs, verdicts and series for tests: plausible unless a test says otherwise. */
import type {
  Advice,
  Diagnosis,
  HotspotsPage,
  Run,
  RunSummary,
  Series,
  SeriesPage,
  Trial,
  Tuning,
  Week,
  WorkerInfo,
  WorkersPage,
} from '../src/api/schema'
import { stacksOf } from './charts/flame/stacks'

export function summary(changes: Partial<RunSummary> = {}): RunSummary {
  return {
    run_id: 'run-1',
    project: 'vision',
    name: 'resnet50',
    job: 'vision/resnet50',
    tags: {},
    status: 'running',
    status_label: 'running',
    bound: 'data',
    bound_label: 'data-bound',
    level: 'bound',
    level_label: 'bound by its input',
    cause: 'too_few_workers',
    cause_label: 'too few workers',
    data_stall_fraction: 0.43,
    steps: 29_415,
    steps_per_s: 2.43,
    samples_per_s: 621,
    step_us: 412_000,
    hours_lost: 9.4,
    gpu_hours_lost: 9.4,
    best_advice: {
      change: 'num_workers',
      change_label: 'number of workers',
      from: 4,
      to: 8,
      predicted_speedup: 1.62,
      low: 1.48,
      high: 1.71,
      is_promised: true,
    },
    observed_speedup: null,
    is_final: false,
    spark: [0.4, 0.43],
    num_workers: 4,
    world_size: 1,
    gpus: 1,
    gpu_name: 'A100',
    hostnames: ['gpu-03'],
    user: 'mira',
    started_at: '2026-11-21T10:00:00Z',
    last_seen_at: '2026-11-21T13:06:00Z',
    ended_at: null,
    exit_reason: null,
    archived_at: null,
    no_loader: null,
    ...changes,
  }
}

export function run(changes: Partial<Run> = {}): Run {
  return {
    ...summary(),
    command: ['python', 'train.py'],
    script: 'train.py',
    config: {},
    overrides: {},
    advice_of: null,
    replay: null,
    trackers: [],
    started_by: 'watch',
    launcher: null,
    restart_count: null,
    slurm_job_id: null,
    namespace: null,
    pods: [],
    train_job: null,
    queue: null,
    agent_version: '0.1.0',
    python_version: '3.11.4',
    torch_version: '2.13.0',
    cuda_version: null,
    hip_version: null,
    cudnn_version: null,
    ranks: [0],
    loaders: [
      {
        loader: 'train',
        settings: { num_workers: 4, prefetch_factor: 2, pin_memory: false },
        dataset_type: 'ImageFolder',
        dataset_kind: 'map',
        dataset_length: 1_281_167,
        batches_per_epoch: 5_004,
        sampler_type: 'RandomSampler',
        collate_type: 'default_collate',
        transforms: null,
        watched_at: 'train.py:118',
        batch_tensors: null,
        batch_bytes: null,
        shards: null,
        why_unsharded: null,
        compared_batches: null,
        repeated_batches: null,
        not_measured: {},
      },
    ],
    hosts: [],
    devices: [],
    epochs: [],
    storage: [],
    died_workers: [],
    losses: {
      dropped_steps: 0,
      dropped_batches: 0,
      dropped_windows: 0,
      rejected_windows: 0,
      agent_errors: 0,
    },
    overhead_us: 3.6,
    not_measured: {},
    notes: '',
    ...changes,
  }
}

export function worker(changes: Partial<WorkerInfo> = {}): WorkerInfo {
  return {
    worker: 0,
    batches: 10,
    load_us_p5: 1_000,
    load_us_p50: 2_000,
    load_us_p95: 3_000,
    load_us_mean: 2_000,
    cpu_fraction: null,
    runqueue_fraction: 0.02,
    blocked_fraction: 0.04,
    collate_fraction: null,
    read_bytes_per_s: null,
    lives: [],
    died: 0,
    raised: 0,
    rss_bytes: null,
    pss_bytes: null,
    rss_bytes_per_hour: null,
    pss_bytes_per_hour: null,
    is_growing: null,
    threads: null,
    ...changes,
  }
}

export function workersPage(changes: Partial<WorkersPage> = {}): WorkersPage {
  return {
    run_id: 'run-1',
    rank: 0,
    loader: 'train',
    workers: [],
    pin_us_p50: null,
    limit_us: null,
    heatmap: null,
    missing: null,
    ...changes,
  }
}

/** A data set that resizes, opens and joins photographs: 1,000 samples. */
export function hotspotsPage(changes: Partial<HotspotsPage> = {}): HotspotsPage {
  const stacks = stacksOf(
    ['getitem', 'Photos.__getitem__ Image.resize', 600],
    ['getitem', 'Photos.__getitem__ Image.open', 200],
    ['getitem', 'Photos.__getitem__', 50],
    ['collate', 'default_collate', 130],
    ['other', '', 20],
  )
  const shares = [
    ['getitem', 0.05, 0.85],
    ['getitem', 0.6, 0.6],
    ['getitem', 0.2, 0.2],
    ['collate', 0.13, 0.13],
  ] as const
  return {
    ...stacks,
    run_id: 'run-1',
    rank: null,
    loader: 'train',
    of: 'loading',
    has_step: false,
    samples: 1_000,
    hotspots: shares.map(([stage, self_fraction, total_fraction], place) => ({
      ...(stacks.frames[place] as HotspotsPage['frames'][number]),
      ...{ stage, self_fraction, total_fraction, callers: [] },
      ...{ self_margin_fraction: 0.03, total_margin_fraction: 0.034 },
    })),
    hot_lines: [
      line('Image.resize', 0.6),
      line('Image.open', 0.2),
      { ...line(null, 0.13), function: 'default_collate', file: 'default_collate.py', line: 13 },
    ],
    slow_samples: [],
    picture_sizes: [],
    agent_fraction: 0.002,
    missing: null,
    ...changes,
  }
}

function line(called: string | null, fraction: number): HotspotsPage['hot_lines'][number] {
  return {
    ...{
      function: 'Photos.__getitem__',
      file: 'photos.py',
      line: 10,
      called,
      fraction,
      margin_fraction: 0.031,
    },
    sentence: `${called} at photos.py:10, in Photos.__getitem__`,
    callers: [],
  }
}

export function advice(changes: Partial<Advice> = {}): Advice {
  return {
    change: 'num_workers',
    change_label: 'number of workers',
    from: 4,
    to: 8,
    predicted_speedup: 1.62,
    low: 1.48,
    high: 1.71,
    is_promised: true,
    ceiling: 1.75,
    settings: { num_workers: 8 },
    title: 'Raise num_workers from 4 to 8',
    why: 'Four workers cannot keep up.',
    evidence: [{ what: 'A worker needs for one batch', value: 1_650_000, unit: 'us', series: null }],
    anatomy: { step_us: 254_000, data_wait_us: 19_000, h2d_exposed_us: null, compute_us: 235_000 },
    changes_batch_order: false,
    risk: '',
    diff: ' loader = DataLoader(\n-    num_workers=4,\n+    num_workers=8,\n )',
    diff_file: 'train.py:118',
    command: null,
    assumption: null,
    ...changes,
  }
}

export function trial(changes: Partial<Trial> = {}): Trial {
  return {
    rank: 0,
    search: 0,
    number: 0,
    settings: { num_workers: 0 },
    predicted_speedup: null,
    predicted_low: null,
    predicted_high: null,
    steps: 30,
    steps_per_s: 5,
    low: 4.9,
    high: 5.1,
    speedup: null,
    kept: false,
    reason: null,
    blocks: [],
    ...changes,
  }
}

export function tuning(changes: Partial<Tuning> = {}): Tuning {
  return {
    loader: 'train',
    rank: 0,
    status: 'kept',
    status_label: 'kept a faster setting',
    reason: null,
    began_with: { num_workers: 0, prefetch_factor: null, pin_memory: false },
    kept: { num_workers: 3, prefetch_factor: 2, pin_memory: false },
    kept_from_step: 140,
    speedup: 2.1,
    low: 2,
    high: 2.2,
    trial_steps: 80,
    trial_us: 12_000_000,
    gained_us: 180_000_000,
    gained_low_us: 120_000_000,
    gained_high_us: 240_000_000,
    lost_us: 2_000_000,
    searches: 1,
    lines: ['num_workers=3', 'prefetch_factor=2'],
    ...changes,
  }
}

export function diagnosis(changes: Partial<Diagnosis> = {}): Diagnosis {
  return {
    run_id: 'run-1',
    status: 'running',
    status_label: 'running',
    steps: 29_415,
    loader: 'train',
    trials: [],
    beside: [],
    beside_training: [],
    bound: 'data',
    bound_label: 'data-bound',
    clock: 'host',
    level: 'bound',
    level_label: 'bound by its input',
    confidence: 'high',
    reason: null,
    sentence: 'The GPU waits for data 43% of every step.',
    why: 'Four workers cannot keep up.',
    judged_steps: 1_200,
    needed_steps: 40,
    warmup_steps: 20,
    data_stall_fraction: 0.43,
    steps_per_s: 2.43,
    samples_per_s: 621,
    instant_data_steps_per_s: 4.26,
    hours_lost: 9.4,
    gpu_hours_lost: 9.4,
    hours_used: 21.9,
    hours_saved: { low: 7.1, high: 9.1 },
    anatomy: { step_us: 412_000, data_wait_us: 177_000, h2d_exposed_us: null, compute_us: 235_000 },
    causes: [],
    signals: [],
    advice: [advice()],
    refusals: [],
    ranks: [{ rank: 0, data_stall_fraction: 0.43, straggler: false, works_longer: false }],
    ledger: [],
    shared: [],
    hotspots: [],
    hot_lines: [],
    step_hotspots: [],
    step_lines: [],
    looks: 0,
    step_looks: 0,
    needed_looks: 100,
    slow_samples: [],
    loaders: [],
    judged_at: '2026-11-21T13:06:00Z',
    is_beside_first: false,
    is_lost_at_start: false,
    is_final: false,
    ...changes,
  }
}

/** A verdict that is not there yet: no figure at all. */
export function undecided(changes: Partial<Diagnosis> = {}): Diagnosis {
  return diagnosis({
    bound: 'unknown',
    level: 'unknown',
    confidence: null,
    sentence: 'A verdict needs a few more steps.',
    why: null,
    reason: '38 of 40 steps; the first 20 are warm-up and not judged',
    steps: 38,
    judged_steps: 18,
    data_stall_fraction: null,
    steps_per_s: null,
    samples_per_s: null,
    instant_data_steps_per_s: null,
    hours_lost: null,
    gpu_hours_lost: null,
    hours_used: null,
    anatomy: null,
    advice: [],
    ranks: [],
    judged_at: null,
    ...changes,
  })
}

/** `mean` per bucket; buckets of `steps` steps, one a second. */
export function series(metric: string, mean: (number | null)[], changes: Partial<Series> = {}): Series {
  const steps = 10
  return {
    metric,
    unit: 'us',
    at_us: mean.map((_, index) => index * 1_000_000),
    first_index: mean.map((_, index) => index * steps),
    count: mean.map(() => steps),
    mean,
    min: mean,
    max: mean,
    missing: null,
    ...changes,
  }
}

export function seriesPage(...all: Series[]): SeriesPage {
  return {
    run_id: 'run-1',
    rank: 0,
    loader: 'train',
    started_at: '2026-11-21T10:00:00Z',
    pauses: [],
    series: all,
  }
}

export function week(changes: Partial<Week> = {}): Week {
  return {
    hours_lost: 412,
    hours_used: 2_290,
    previous_hours_lost: 514,
    previous_hours_used: 2_235,
    on_gpu: true,
    gpu_hours_lost: 412,
    by_cause: [
      { cause: 'storage_wait', cause_label: 'slow storage', hours_lost: 214 },
      { cause: null, hours_lost: 198 },
    ],
    days: Array.from({ length: 14 }, (_, day) => ({
      day: `2026-11-${day + 8}`,
      hours_lost: day,
      hours_used: 100,
    })),
    ...changes,
  }
}
