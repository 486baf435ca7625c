import { signal } from '@preact/signals'
import { cleanup, fireEvent, render, screen } from '@testing-library/preact'
import { afterEach, describe, expect, test, vi } from 'vitest'
import { ServiceError } from '../src/api/client'
import type { HostFacts, SharedCause, Week, WorkerInfo } from '../src/api/names'
import { navigate } from '../src/router'
import { service } from '../src/store/connection'
import { AdviceList } from '../src/ui/AdviceList'
import { AnatomyBars } from '../src/ui/AnatomyBars'
import { CrashBanner, DiedBanner, NoSignalBanner, TroubleBanner } from '../src/ui/Banner'
import { COLUMNS } from '../src/ui/columns'
import { tagsOf, tagsText } from '../src/ui/EditDialog'
import { Empty } from '../src/ui/Empty'
import { Footnote } from '../src/ui/Footnote'
import { stretchText } from '../src/ui/GanttPanel'
import { Ledger } from '../src/ui/Ledger'
import { LoaderSettings } from '../src/ui/LoaderSettings'
import { RanksPanel } from '../src/ui/RanksPanel'
import { RunFacts } from '../src/ui/RunFacts'
import { RunHead } from '../src/ui/RunHead'
import { RunRow } from '../src/ui/RunRow'
import { SignalsPanel } from '../src/ui/SignalsPanel'
import { Verdict } from '../src/ui/Verdict'
import { WeekHead } from '../src/ui/WeekHead'
import { WorkersPanel } from '../src/ui/WorkersPanel'
import { advice, diagnosis, run, summary, undecided, week, worker, workersPage } from './made'

afterEach(() => {
  cleanup()
  navigate('/', 'replace')
})
const seen = () => (document.body.textContent ?? '').replace(/\s+/g, ' ')

describe('the verdict', () => {
  test('says what was lost, how fast it is, and what the first fix saves', () => {
    render(<Verdict run={run()} diagnosis={diagnosis()} />)
    expect(screen.getByRole('heading').textContent).toBe('The GPU waits for data 43% of every step.')
    expect(seen()).toContain('9.4 GPU-hourslost to waiting for data so far, of 21.9 GPU-hours used')
    expect(seen()).toContain('621 samples/snow; 1,089 if no step waited for data')
    expect(seen()).toContain('8.4 GPU-hoursless for the same steps')
  })

  test('of a run whose length is known says what will be lost until its end, and how much sooner it could be', () => {
    const outlook = {
      last_step: 56_250,
      basis: '90 epochs of 625 steps: --epochs=90',
      hours_to_lose: 10.6,
      hours_lost_per_hour: 0.43,
      saved_fraction: 0.38,
      saved_s: 4_260,
    }
    const { rerender } = render(<Verdict run={run({ outlook })} diagnosis={diagnosis()} />)
    expect(seen()).toContain(
      '10.6 GPU-hoursmore will be lost by step 56,25090 epochs of 625 steps: --epochs=90',
    )
    expect(seen()).toContain('1 h 11 minsooner done')
    const open = { ...outlook, last_step: null, basis: null, hours_to_lose: null, saved_s: null }
    rerender(<Verdict run={run({ outlook: open })} diagnosis={diagnosis()} />)
    expect(seen()).toContain('26 GPU-minuteswill be lost in each further hour')
    expect(seen()).toContain('22 minof each further hour saved')
  })

  test('without a GPU speaks of no GPU', () => {
    const cpu = diagnosis({
      gpu_hours_lost: null,
      sentence: 'The training loop waits for data 43% of every step.',
    })
    render(<Verdict run={run({ gpus: 0, gpu_name: null })} diagnosis={cpu} />)
    expect(seen()).not.toContain('GPU')
    expect(seen()).toContain('9.4 hours')
  })

  test('while measuring shows progress and no figure', () => {
    render(<Verdict run={run()} diagnosis={undecided()} />)
    expect(screen.getByRole('progressbar').getAttribute('value')).toBe('38')
    expect(seen()).toContain('Measuring38 of 40 steps')
    expect(seen()).not.toMatch(/samples\/s|hours|0%|× /)
  })

  test('of a run that ended too early shows no progress', () => {
    render(<Verdict run={run({ status: 'finished' })} diagnosis={undecided({ status: 'finished' })} />)
    expect(screen.queryByRole('progressbar')).toBeNull()
    expect(seen()).toContain('No verdictA verdict needs')
  })

  test('names the parts of a step to those who cannot see them', () => {
    render(<Verdict run={run()} diagnosis={diagnosis()} />)
    expect(screen.getByLabelText(/Mean step: 412 ms: 177 ms data wait, 235 ms compute/)).toBeTruthy()
    expect(screen.getByLabelText(/With num_workers=8: 254 ms/)).toBeTruthy()
  })
})

describe('advice', () => {
  test('has gain, interval, evidence and diff; the first is open', () => {
    render(<AdviceList run={run()} diagnosis={diagnosis()} />)
    expect(document.querySelector('details')?.open).toBe(true)
    expect(seen()).toContain('× 1.62')
    expect(screen.getByLabelText(/interval 1.48 to 1.71, ceiling 1.75/)).toBeTruthy()
    expect(seen()).toContain('A worker needs for one batch1.65 s')
    expect(document.querySelector('.added')?.textContent).toContain('num_workers=8')
  })

  test('that cannot be predicted has no figure', () => {
    const unknown = advice({ predicted_speedup: null, low: null, high: null, ceiling: null, anatomy: null })
    render(<AdviceList run={run()} diagnosis={diagnosis({ advice: [unknown] })} />)
    expect(seen()).toContain('gain not computed')
    expect(seen()).not.toMatch(/× \d/)
  })

  test('says when it changes the order of batches', () => {
    render(
      <AdviceList run={run()} diagnosis={diagnosis({ advice: [advice({ changes_batch_order: true })] })} />,
    )
    expect(seen()).toContain('Changes the order of batches')
  })

  test('is not needed, not found, or not yet', () => {
    const { rerender } = render(
      <AdviceList run={run()} diagnosis={diagnosis({ advice: [], level: 'healthy', bound: 'compute' })} />,
    )
    expect(seen()).toContain('None needed')
    rerender(<AdviceList run={run()} diagnosis={diagnosis({ advice: [] })} />)
    expect(seen()).toContain('None found')
    rerender(<AdviceList run={run()} diagnosis={undecided()} />)
    expect(seen()).toContain('None yet')
  })

  test('refusals carry their reason', () => {
    const refusal = {
      change: 'tmpfs' as const,
      title: 'A copy in tmpfs',
      why: 'All from the cache.',
      evidence: [],
    }
    render(<AdviceList run={run()} diagnosis={diagnosis({ refusals: [refusal] })} />)
    expect(seen()).toContain('What would not helpA copy in tmpfsAll from the cache.')
  })
})

describe('the ledger', () => {
  const entry = {
    advice_of: 'run-1',
    run_id: 'run-2',
    change: 'num_workers' as const,
    settings: { num_workers: 2 },
    predicted_speedup: 1.74,
    low: 1.52,
    high: 1.9,
    observed_speedup: 1.71,
    observed_low: null,
    observed_high: null,
    inside_interval: true,
  }
  test('sets predicted beside observed and links the other run', () => {
    render(<Ledger run={run()} entries={[entry]} />)
    expect(seen()).toContain('predicted× 1.74')
    expect(seen()).toContain('observed× 1.71')
    expect(seen()).toContain('A hit: inside the predicted interval.')
    expect(screen.getByRole('link').getAttribute('href')).toBe('/runs/run-2')
  })
  test('waits for the observation', () => {
    render(<Ledger run={run()} entries={[{ ...entry, observed_speedup: null, inside_interval: null }]} />)
    expect(seen()).toContain('observed–')
    expect(seen()).toContain('Not judged yet.')
    cleanup()
    const why_not = 'not comparable, changed as well: batch_size (32 → 64)'
    const apart = { ...entry, observed_speedup: null, inside_interval: null, why_not }
    render(<Ledger run={run()} entries={[apart]} />)
    expect(seen()).toContain('Not comparable, changed as well: batch_size (32 → 64).')
  })
  test('shows a miss as one', () => {
    render(<Ledger run={run()} entries={[{ ...entry, observed_speedup: 1.1, inside_interval: false }]} />)
    expect(screen.getByText('A miss: outside the predicted interval.').className).toContain('missed')
  })
})

describe('a row of the table', () => {
  function show(changes: Parameters<typeof summary>[0]) {
    render(
      <table>
        <tbody>
          <RunRow row={signal(summary(changes))} columns={COLUMNS} query={new URLSearchParams()} index={0} />
        </tbody>
      </table>,
    )
  }
  test('says what waits and what a fix gains', () => {
    show({})
    expect(seen()).toContain('43%')
    expect(seen()).toContain('× 1.62')
    expect(screen.getByRole('link').getAttribute('href')).toBe('/runs/run-1')
  })
  test('that was not judged yet has dashes, never zeros', () => {
    show({
      bound: 'unknown',
      level: 'unknown',
      cause: null,
      data_stall_fraction: null,
      hours_lost: null,
      gpu_hours_lost: null,
      best_advice: null,
      step_us: null,
      num_workers: null,
      gpus: null,
      spark: [],
    })
    const cells = [...document.querySelectorAll('td')].map(cell => cell.textContent)
    expect(cells.filter(cell => cell === '–')).toHaveLength(6)
    expect(seen()).toContain('measuring')
    expect(document.querySelector('.wait-bar')).toBeNull()
  })
  test('of a run that carried advice says what it gained', () => {
    show({ observed_speedup: 1.71 })
    expect(seen()).toContain('gained✓ × 1.71')
  })
  test('between five and ten percent is some wait, not compute-bound', () => {
    show({ bound: 'compute', level: 'watch', data_stall_fraction: 0.07, cause: null })
    expect(seen()).toContain('some wait')
  })
})

describe('the week', () => {
  const sentence = (changes: Partial<Week>) => {
    cleanup()
    render(<WeekHead week={week(changes)} query={new URLSearchParams()} />)
    return screen.getByRole('heading').textContent
  }
  test('is a sentence', () => {
    expect(sentence({})).toBe(
      'This week 412 of 2,290 GPU-hours went to waiting for data: 18%, down from 23%.',
    )
    expect(sentence({ previous_hours_lost: 0, previous_hours_used: 0 })).toBe(
      'This week 412 of 2,290 GPU-hours went to waiting for data: 18%.',
    )
    expect(sentence({ previous_hours_lost: 10 })).toContain('up from 0.4%')
    expect(sentence({ previous_hours_lost: 412, previous_hours_used: 2_290 })).toContain(
      'as in the week before',
    )
    expect(sentence({ hours_lost: 0.007, hours_used: 0.5, on_gpu: false })).toContain(
      '25 seconds of 30 minutes',
    )
    expect(sentence({ hours_lost: 0, hours_used: 0 })).toBe('No training was judged in the last seven days.')
  })
})

describe('what is wrong', () => {
  test('a lost run names its host and the moment', () => {
    render(<NoSignalBanner run={run({ status: 'lost' })} />)
    expect(seen()).toMatch(/No data from gpu-03 for .*as of \d\d:06:00\./)
  })
  test('a crashed run shows its last words', () => {
    render(<CrashBanner run={run({ status: 'crashed', exit_reason: 'CUDA out of memory' })} />)
    expect(document.querySelector('pre')?.textContent).toBe('CUDA out of memory')
  })
  test('a run that was killed has none', () => {
    render(<CrashBanner run={run({ status: 'crashed' })} />)
    expect(seen()).toContain('It left no last words.')
  })
  test('a failed part has its request to copy', () => {
    render(
      <TroubleBanner what="The charts" error={new ServiceError(500, 'internal', 'It broke.', 'req-7')} />,
    )
    expect(seen()).toContain('The charts could not be read. It broke. Request req-7.')
  })
})

describe('no run yet', () => {
  const info = {
    version: '0.1.0',
    started_at: '2026-11-21T10:00:00Z',
    token_required: false,
    signed_in: true,
    user: null,
    scopes: [],
    project: null,
  }
  test('the default address needs no setting', () => {
    service.value = { ...info, url: 'http://127.0.0.1:7077' }
    render(<Empty />)
    expect(seen()).toContain('loader = underfed.watch(loader)')
    expect(seen()).not.toContain('UNDERFED_URL')
  })
  test('where a token is asked for the snippet has one, and the project that the reader may see', () => {
    service.value = { ...info, url: 'http://127.0.0.1:7077', token_required: true, project: 'vision' }
    render(<Empty />)
    expect(screen.getByRole('heading').textContent).toBe('No runs of vision yet.')
    expect(seen()).toContain('UNDERFED_TOKEN=… UNDERFED_PROJECT=vision python train.py')
  })
  test('any other one is in the snippet', () => {
    service.value = { ...info, url: 'http://gpu-head:7077' }
    render(<Empty />)
    expect(seen()).toContain('UNDERFED_URL=http://gpu-head:7077')
  })
})

test('signals say what a figure is a share of, and what could not be measured', () => {
  const measured = { what: 'of requests', value: 0.93, unit: 'fraction' as const, series: null }
  render(
    <SignalsPanel
      signals={[
        { signal: 'Empty queue', measured, healthy: 'under 5%', reading: 'symptom', says: 'queue empty' },
        {
          signal: 'Hand-over',
          measured: { ...measured, value: null },
          healthy: '',
          reading: 'not_measured',
          says: 'not measured',
        },
      ]}
    />,
  )
  const cells = [...document.querySelectorAll('td')].map(cell => cell.textContent)
  expect(cells).toEqual(['93% of requests', 'under 5%', 'queue empty', '–', '', 'not measured'])
})

test('settings that the advice would change are marked', () => {
  render(<LoaderSettings previous={null} run={run()} diagnosis={diagnosis()} chosen={null} />)
  expect(document.querySelector('.advised')?.textContent).toContain('4')
  expect(seen()).toContain('pin_memoryFalse')
})

test('what differs from the run before is marked, and only that', () => {
  const before = run()
  const settings = { ...before.loaders[0]?.settings, num_workers: 8 }
  const loaders = before.loaders.map(loader => ({ ...loader, settings, dataset_length: 7 }))
  render(<LoaderSettings previous={{ ...before, loaders }} run={run()} diagnosis={null} chosen={null} />)
  expect([...document.querySelectorAll('.was')].map(one => one.textContent)).toEqual([
    'was 8 in the run before',
    'was ImageFolder, 7 samples in the run before',
  ])
})

test('command, versions and configuration are told, and what was set otherwise before', () => {
  const previous = run({ torch_version: '2.12.0', config: { lr: 0.1 } })
  render(<RunFacts run={run({ config: { lr: 0.2, seed: 7 } })} previous={previous} />)
  expect(seen()).toContain('python train.py')
  expect(seen()).toContain('torch2.13.0was 2.12.0 in the run before')
  expect(seen()).toContain('config.lr0.2was 0.1')
  expect(seen()).toContain('config.seed7was not set')
})

describe('ranks', () => {
  const show = (count: number) => {
    const ranks = Array.from({ length: count }, (_, rank) => ({
      rank,
      data_stall_fraction: rank === 5 ? 0.4 : 0.1,
      straggler: rank === 5,
    }))
    const store = { selection: signal({ rank: null }), series: signal({ rank: 0 }), select: vi.fn() }
    render(<RanksPanel store={store as never} diagnosis={diagnosis({ ranks })} />)
    return store
  }
  test('the straggler is named, and a rank is chosen from them', () => {
    const store = show(8)
    expect(seen()).toContain('Rank 5: much slower than the others')
    fireEvent.click(screen.getByRole('radio', { name: 'rank 5, straggler: 40%' }))
    expect(store.select).toHaveBeenCalledWith({ rank: 5, range: { kind: 'whole' } })
  })
  test('sixty-four of them are a field of cells, each with its share in words', () => {
    show(64)
    expect(screen.getAllByRole('radio')).toHaveLength(64)
    expect(document.querySelectorAll('.rank-cells label')).toHaveLength(64)
    expect(screen.getByRole('radio', { name: 'rank 63: 10%' })).toBeTruthy()
  })
})

test('a stretch of the timeline is summed up, steps cut where it cuts them', () => {
  const step = (start_us: number, data_wait_us: number) => ({ start_us, data_wait_us })
  const timeline = { steps: [step(0, 400_000), step(1_000_000, 300_000)], to_us: 2_000_000 }
  expect(stretchText(timeline as never, { fromUs: 200_000, toUs: 1_200_000 }, 1)).toContain(
    'In these 1 s: the GPU waits 400 ms (40%); 1 step begins.',
  )
})

test('tags are written as they are read', () => {
  expect(tagsOf('imagenet, lr=3e-4 ,, a=b=c')).toEqual({ imagenet: '', lr: '3e-4', a: 'b=c' })
  expect(tagsText({ imagenet: '', lr: '3e-4' })).toBe('imagenet, lr=3e-4')
})

test('the footnote tells cost, losses and what was not measured', () => {
  const { rerender } = render(<Footnote run={run()} />)
  expect(seen()).toContain('measuring costs 3.6 µs a step (< 0.1%) · nothing recorded was lost')
  const losses = { ...run().losses, dropped_windows: 3 }
  rerender(<Footnote run={run({ losses, not_measured: { gpu_util_fraction: 'no NVIDIA driver' } })} />)
  expect(seen()).toContain('3 windows dropped by the full spool')
  expect(seen()).toContain('gpu_util_fraction no NVIDIA driver')
})

describe('workers', () => {
  const show = (...workers: WorkerInfo[]) =>
    render(<WorkersPanel page={workersPage({ workers, limit_us: 900 })} run={run({ gpus: 0 })} />)

  test('can be read as a table', () => {
    show(worker({ rss_bytes: 2 ** 30, rss_bytes_per_hour: -(2 ** 20), threads: 4, died: 1 }))
    expect(seen()).toContain('Above 900 µs a batch the training loop waits.')
    fireEvent.click(screen.getByRole('button', { name: /As table/ }))
    expect(location.search).toBe('?table=workers')
    const cells = [...document.querySelectorAll('td')].map(cell => cell.textContent)
    expect(cells.slice(0, 8)).toEqual(['10', '1 ms', '2 ms', '3 ms', '–', '2.0%', '4.0%', '–'])
    expect(cells.slice(8)).toEqual(['1 GiB', '–', '−1 MiB', '4', '1', '0'])
  })

  test('that grow or ended badly stand above what they take', () => {
    const memory = { rss_bytes: 2 ** 30, pss_bytes: 2 ** 28, threads: 5, is_growing: false }
    show(
      worker({ ...memory, raised: 2 }),
      worker({ ...memory, worker: 1, rss_bytes: 2 ** 31, is_growing: true, pss_bytes_per_hour: 2 ** 29 }),
    )
    const notes = [...document.querySelectorAll('.worker-notes li')].map(note => note.textContent)
    expect(notes).toEqual([
      'Worker 0 ended with an exception 2 times.',
      'Worker 1 grows by 512 MiB an hour.',
      '1 GiB to 2 GiB of memory each (256 MiB unshared), 5 threads.',
    ])
  })

  test('of which nothing was sampled say nothing', () => {
    show(worker())
    expect(document.querySelectorAll('.worker-notes li').length).toBe(0)
  })

  test('that loaded nothing have a row without figures', () => {
    const none = { load_us_p5: null, load_us_p50: null, load_us_p95: null, load_us_mean: null }
    show(worker(), worker({ ...none, worker: 1, batches: 0 }))
    expect(seen()).toContain('worker 1no batch')
    cleanup()
    const idle = worker({ ...none, worker: 1, batches: 0, died: 1 })
    const page = workersPage({ workers: [idle], missing: 'no batch was recorded' })
    render(<WorkersPanel page={page} run={run()} />)
    expect(seen()).toContain('No batch was recorded.Worker 1 died.')
  })

  test('are followed by the thread that pins', () => {
    render(<WorkersPanel page={workersPage({ workers: [worker()], pin_us_p50: 1_400 })} run={run()} />)
    expect(seen()).toContain('A thread of the training process then pins each batch: 1.4 ms.')
  })
})

describe('a worker that died', () => {
  const death = {
    rank: 0,
    loader: 'train',
    worker: 2,
    iterator_index: 1,
    epoch_index: 1,
    pid: 4711,
    start_us: 5,
    end_us: 192_000_000,
    ended: 'died' as const,
  }
  const lives = [{ ...death, rank: undefined, loader: undefined, worker: undefined }]

  test('is told with when, and what it took last', () => {
    const page = workersPage({ workers: [worker({ worker: 2, rss_bytes: 3 * 2 ** 30, lives })] })
    render(<DiedBanner run={run({ died_workers: [death] })} page={page} />)
    expect(seen()).toContain('Worker 2 of train died.')
    expect(seen()).toContain('Process 4711, 3 min into the run, in epoch 1, last seen with 3 GiB: gone')
  })

  test('has no memory told that is a later process’s', () => {
    const page = workersPage({
      workers: [worker({ worker: 2, rss_bytes: 5, lives: [{ ...death, start_us: 9 }] })],
    })
    render(<DiedBanner run={run({ died_workers: [death] })} page={page} />)
    expect(seen()).not.toContain('last seen')
  })

  test('is counted where it was not alone', () => {
    render(<DiedBanner run={run({ died_workers: [death, { ...death, rank: 3 }] })} page={null} />)
    expect(seen()).toContain('2 workers died. The last of them: Worker 2 of train on rank 3 died.')
  })
})

describe('a run without a loader', () => {
  const why = 'no loader seen: PyTorch was not imported'
  test('is a sentence, its reason, and what can be watched instead', () => {
    const none = undecided({
      status: 'finished',
      sentence: 'No loader was seen in this run.',
      reason: 'PyTorch was not imported',
    })
    render(<Verdict run={run({ status: 'finished', no_loader: why })} diagnosis={none} />)
    expect(screen.getByRole('heading').textContent).toBe('No loader was seen in this run.')
    expect(seen()).toContain('No verdictNo loader was seen in this run.PyTorch was not imported.')
    expect(seen()).toContain('underfed.watch(loader)')
    expect(screen.queryByRole('progressbar')).toBeNull()
  })
})

test('the wait says how much of it the GPU idled, and what drawing indices took', () => {
  const anatomy = { step_us: 100, data_wait_us: 40, h2d_exposed_us: null, compute_us: 60 }
  const { rerender } = render(
    <AnatomyBars now={{ ...anatomy, gpu_idle_us: 0, sampler_us: 7 }} advice={null} />,
  )
  expect(seen()).toContain('Of the data wait: 0 µs with the GPU idle, 7 µs drawing indices.')
  rerender(<AnatomyBars now={anatomy} advice={null} />)
  expect(seen()).not.toContain('Of the data wait')
})

test('settings say where the data lie, the place with most files first', () => {
  const place = { hostname: 'gpu-03', loader: 'train', example: null, device: null, file_system: 'nfs4' }
  const storage = [
    { ...place, mount: '/few', kind: 'network' as const, files_seen: 1 },
    {
      ...place,
      mount: '/data',
      kind: 'nvme' as const,
      files_seen: 1_204,
      device: 'nvme0n1',
      file_system: 'ext4',
    },
    { ...place, mount: '/other', kind: 'ssd' as const, files_seen: 9, loader: 'val' },
  ]
  render(<LoaderSettings previous={null} run={run({ storage })} diagnosis={null} chosen={null} />)
  expect(seen()).toContain(
    'storage/dataext4 on nvme0n1, NVMe, 1,204 files seenstorage/fewnfs4, network, 1 file seen',
  )
  expect(seen()).not.toContain('/other')
})

test('who launched a run, how often it was started again, and what its host allows', () => {
  const host = { memory_available_bytes: null, open_files_limit: 1_024, numa_nodes: 2 }
  const facts = Object.fromEntries(
    ['cpu_model', 'cpu_count', 'allowed_cpus', 'quota_cores', 'usable_cores', 'memory_total_bytes'].map(
      name => [name, null],
    ),
  )
  const hosts = [{ ...facts, ...host, hostname: 'gpu-03', memory_limit_bytes: null } as HostFacts]
  render(<Footnote run={run({ launcher: 'torchrun', hosts })} />)
  expect(seen()).toContain('launched by torchrun')
  expect(seen()).toContain('2 NUMA nodes, 1,024 open files at most')
  cleanup()
  render(<RunHead run={run({ restart_count: 2 })} />)
  expect(seen()).toContain('restarted 2 times')
})

describe('what stands beside a verdict', () => {
  const shared: SharedCause = {
    cause: 'storage_wait',
    kind: 'mount',
    place: 'nas:/x',
    sentence: '2 runs wait for storage at nas:/x at one time.',
    runs: [
      { run_id: 'run-2', name: 'resnet', hours_lost: 3 },
      { run_id: 'run-1', name: 'vit', hours_lost: 1 },
    ],
    hours_lost: 4,
    started_at: '2026-11-21T10:00:00Z',
    ended_at: '2026-11-21T12:00:00Z',
  }

  test('runs that share its cause are named, and a way leads to each', () => {
    render(<Verdict run={run({ run_id: 'run-1' })} diagnosis={diagnosis({ shared: [shared] })} />)
    expect(seen()).toContain('at nas:/x at one time. 4 hours lost together, with resnet.')
    expect(screen.getByRole('link', { name: 'resnet' }).getAttribute('href')).toContain('run-2')
  })

  test('a measured speed with instant data stands beside the computed one', () => {
    const replay = { run_id: 'run-1', batches: 20, real_steps_per_s: 2.4, instant_steps_per_s: 4.05 }
    const { rerender } = render(<Verdict run={run()} diagnosis={diagnosis()} />)
    expect(seen()).toContain('621 samples/snow; 1,089 if no step waited for data')
    rerender(<Verdict run={run()} diagnosis={diagnosis({ replay })} />)
    expect(seen()).toContain('with instant data 1,089 computed, 1,035 measured by a replay of 20 batches')
  })
})

test('what was not computed gives its reason in place of an interval’s', () => {
  const one = advice({
    predicted_speedup: null,
    low: null,
    high: null,
    changes_batch_order: true,
    assumption: 'no batch was seen with workers',
    command: 'underfed run --set in_order=false -- python train.py',
  })
  render(<AdviceList run={run()} diagnosis={diagnosis({ advice: [one] })} />)
  expect(seen()).toContain('Not computed: no batch was seen with workers')
  expect(seen()).toContain('Changes the order of batches for the same seed.')
  expect(seen()).toContain('underfed run --set in_order=false')
})
