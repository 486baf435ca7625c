// @vitest-environment happy-dom
import { computed, signal } from '@preact/signals'
import { cleanup, fireEvent, render, screen } from '@testing-library/preact'
import { afterEach, describe, expect, test, vi } from 'vitest'
import type { Anatomy, ComparedRun, Comparison, Diagnosis, LoaderLine } from '../../src/api/schema'
import { navigate } from '../../src/router'
import { ComparedRuns } from '../../src/ui/compare/ComparedRuns'
import { AnatomyBars } from '../../src/ui/parts/AnatomyBars'
import { AdviceList } from '../../src/ui/run/AdviceList'
import { LoaderSwitch } from '../../src/ui/run/LoaderSwitch'
import { RunHead } from '../../src/ui/run/RunHead'
import { Verdict } from '../../src/ui/run/Verdict'
import { advice, diagnosis, run, summary } from '../made'

afterEach(() => {
  cleanup()
  navigate('/', 'replace')
})
const seen = () => (document.body.textContent ?? '').replace(/\s+/g, ' ')

function line(changes: Partial<LoaderLine> = {}): LoaderLine {
  return {
    loader: 'train',
    role: 'train',
    bound: 'compute',
    bound_label: 'compute-bound',
    level: 'healthy',
    level_label: 'healthy',
    data_stall_fraction: 0.01,
    hours_lost: 0.1,
    share_of_run_fraction: 0.6,
    steps: 900,
    epochs: 1,
    loop: 0,
    ...changes,
  }
}

const VAL = line({
  loader: 'val',
  role: 'validation',
  bound: 'data',
  level: 'bound',
  data_stall_fraction: 0.8,
  hours_lost: 3,
  share_of_run_fraction: 0.4,
})
const NEW = line({
  loader: 'new',
  role: 'other',
  bound: 'unknown',
  level: 'unknown',
  data_stall_fraction: null,
  hours_lost: 0,
  share_of_run_fraction: 0,
})
const OWN = diagnosis({
  loader: 'val',
  loaders: [line(), VAL, NEW],
  hours_used: 10,
  status: 'finished',
  sentence: '30% of the time in the loops goes to waiting for a validation loader.',
})

function switchOf(chosen: string | null, shown: Diagnosis = OWN, own: Diagnosis = OWN) {
  const selection = signal({ loader: chosen })
  const store = { selection, shown: computed(() => shown), select: vi.fn() }
  render(<LoaderSwitch store={store as never} own={own} />)
  return store
}

describe('the switch between loaders', () => {
  test('has name, role, verdict, share of the run and wait of each, and says which of them decides', () => {
    switchOf(null)
    expect([...document.querySelectorAll('label')].map(one => one.textContent)).toEqual([
      'traintraining, healthy1.0% lost: 6 min of 10 GPU-hours; its loop: 60%',
      'valthe run’s verdictvalidation, data-bound30% lost: 3.0 h of 10 GPU-hours; its loop: 40%',
      'newno verdictits loop takes 0% of the time in the loops',
    ])
    const bars = [...document.querySelectorAll('.share')].map(bar =>
      [...bar.querySelectorAll('i')].map(part => part.style.width),
    )
    expect(bars).toEqual([
      ['1%', '59%'],
      ['30%', '10%'],
      ['0%', '0%'],
    ])
    expect(screen.getByRole('radio', { name: /^val/ })).toHaveProperty('checked', true)
    expect(screen.getByRole('status').textContent).toBe('')
  })

  test('chooses by a radio button, and the range of the loader before is left', () => {
    const store = switchOf(null)
    fireEvent.click(screen.getByRole('radio', { name: /^train/ }))
    expect(store.select).toHaveBeenCalledWith({ loader: 'train', range: { kind: 'whole' } })
  })

  test('says whose verdict is above and whose below while another loader is looked at', () => {
    switchOf('train', diagnosis({ loader: 'train' }))
    expect(screen.getByRole('radio', { name: /^train/ })).toHaveProperty('checked', true)
    expect(screen.getByRole('status').textContent).toBe(
      'Verdict, figures, charts and fixes below are about train alone. The run’s verdict, above, is about val.',
    )
  })

  test('does not announce a loader whose verdict is not there yet', () => {
    switchOf('train', OWN)
    expect(screen.getByRole('status').textContent).toBe('')
  })
})

describe('the verdict on one of several loaders', () => {
  const outlook = {
    last_step: null,
    basis: null,
    left_s: null,
    hours_to_lose: null,
    hours_lost_per_hour: 0.43,
    saved_fraction: 0.38,
    saved_s: null,
  }

  test('counts the hours of its own loop, and says nothing of what is ahead of the run', () => {
    render(<Verdict run={run({ outlook })} diagnosis={OWN} isOfRun={false} />)
    expect(seen()).toContain('lost to waiting for this loader, of 10 GPU-hours in its loop')
    expect(seen()).not.toContain('per further hour')
  })
})

test('advice names its loader where a run has several', () => {
  const [train] = run().loaders
  const both = run({ loaders: [train, { ...train, loader: 'val' }] as never })
  const fixes = diagnosis({ advice: [advice({ loader: 'val' })] })
  const { rerender } = render(<AdviceList run={both} diagnosis={fixes} />)
  expect(document.querySelector('summary')?.textContent).toContain('of val')
  rerender(<AdviceList run={run()} diagnosis={fixes} />)
  expect(seen()).not.toContain('of val')
})

test('the gain of one loop is said beside that of the run', () => {
  const [train] = run().loaders
  const both = run({ loaders: [train, { ...train, loader: 'val' }] as never })
  const gain = { run_speedup: 1.19, run_low: 1.15, run_high: 1.22 }
  const fixes = diagnosis({ advice: [advice({ loader: 'val', ...gain })] })
  render(<AdviceList run={both} diagnosis={fixes} />)
  expect(document.querySelector('.gain')?.textContent).toBe('× 1.15–1.22')
  expect(seen()).toContain('of val; gain in the time of the loops')
  expect(seen()).not.toContain('× 1.48–1.71')
})

test('a loop that takes all of the time is not stated as a share of it', () => {
  const shared = [line({ share_of_run_fraction: 1 }), { ...VAL, share_of_run_fraction: 0.996 }]
  switchOf(null, OWN, { ...OWN, loaders: shared })
  const losses = [...document.querySelectorAll('label > small:last-child')].map(each => each.textContent)
  expect(losses).toEqual(['1.0% lost: 6 min of 10 GPU-hours', '30% lost: 3.0 h of 10 GPU-hours'])
})

test('what one loop may gain names it once', () => {
  const [train] = run().loaders
  const both = run({ loaders: [train, { ...train, loader: 'val' }] as never })
  const gain = { is_promised: false, low: 0.9, run_speedup: 1.1, run_low: 0.95, run_high: 1.22 }
  const fixes = diagnosis({ advice: [advice({ loader: 'val', ...gain })] })
  render(<AdviceList run={both} diagnosis={fixes} />)
  const summary = document.querySelector('summary')?.textContent ?? ''
  expect(summary).toContain('may be × 0.95–1.22')
  expect(summary).toContain('of val; gain in the time of the loops')
  expect(summary).not.toContain('× 0.90–1.71')
})

test('the line of a gain has the figures of the run, as the gain has', () => {
  const gain = { run_speedup: 1.19, run_low: 1.15, run_high: 1.22, ceiling: 1.8, run_ceiling: 1.3 }
  const fixes = diagnosis({ advice: [advice({ loader: 'val', ...gain })] })
  render(<AdviceList run={run()} diagnosis={fixes} />)
  expect(screen.getByLabelText('Predicted speed-up 1.19, interval 1.15 to 1.22, ceiling 1.30')).toBeTruthy()
})

test('steps, speed and the mean step say whose they are where a run has several loaders', () => {
  render(<RunHead run={run({ steps: 50, status: 'finished' })} loader="val" />)
  expect(seen()).toContain('50 steps of val')
  cleanup()
  const { rerender } = render(<Verdict run={run()} diagnosis={OWN} />)
  expect(seen()).toContain('samples/sin the validation loop over val alone, as it ran')
  expect(seen()).toContain('Mean step of val')
  rerender(<Verdict run={run()} diagnosis={diagnosis()} />)
  expect(seen()).not.toMatch(/in the loop over|Mean step of/)
})

describe('waits for other loaders', () => {
  const anatomy: Anatomy = {
    step_us: 100_000,
    data_wait_us: 60_000,
    others_wait_us: 4_000,
    h2d_exposed_us: null,
    compute_us: 36_000,
  }

  test('are a part of the bar with words of its own, and no compute', () => {
    const { rerender } = render(<AnatomyBars now={anatomy} advice={null} loader={null} />)
    expect(screen.getByRole('img').getAttribute('aria-label')).toBe(
      'Mean step: 100 ms: 60 ms data wait, 4 ms waiting for other loaders, 36 ms compute',
    )
    expect(document.querySelector<HTMLElement>('.others')?.style.width).toBe('4%')
    expect(seen()).toContain('4 ms waiting for other loaders')
    rerender(<AnatomyBars now={{ ...anatomy, others_wait_us: 0 }} advice={null} loader={null} />)
    expect(document.querySelector('.others')).toBeNull()
    expect(seen()).not.toContain('other loaders')
  })

  const compared = (changes: Partial<ComparedRun> = {}) =>
    ({
      run: summary(),
      label: 'a',
      anatomy,
      batch_samples: 10,
      speed: null,
      steps_per_s: 1,
      samples_per_s: 1,
      ...changes,
    }) as ComparedRun
  const compare = (per: Comparison['per'], ...runs: ComparedRun[]) => {
    const comparison = { runs, per, basis: 'steady' } as unknown as Comparison
    render(<ComparedRuns comparison={comparison} />)
  }
  const columns = () => [...document.querySelectorAll('th')].map(one => one.textContent)

  test('are compared too, per sample where batches differ in size', () => {
    compare('samples', compared())
    expect(screen.getAllByRole('img')[0]?.getAttribute('aria-label')).toContain(
      '400 µs waiting for other loaders',
    )
    fireEvent.click(screen.getByRole('button', { name: /As table/ }))
    expect(columns()).toContain('Waiting for other loaders')
  })

  test('are no column where no run has any', () => {
    compare('steps', compared({ anatomy: { ...anatomy, others_wait_us: null } }))
    fireEvent.click(screen.getByRole('button', { name: /As table/ }))
    expect(columns()).toEqual(expect.arrayContaining(['Mean step', 'Data wait', 'Copy', 'Compute']))
    expect(columns()).not.toContain('Waiting for other loaders')
  })
})
