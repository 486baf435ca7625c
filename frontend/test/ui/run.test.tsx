// @vitest-environment happy-dom
import { signal } from '@preact/signals'
import { cleanup, fireEvent, render, screen } from '@testing-library/preact'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import type { HostFacts, SharedCause, Timeline, WorkerInfo } from '../../src/api/schema'
import { navigate } from '../../src/router'
import { AnatomyBars } from '../../src/ui/parts/AnatomyBars'
import { AdviceList } from '../../src/ui/run/AdviceList'
import { Footnote } from '../../src/ui/run/Footnote'
import { GanttPanel, stretchText } from '../../src/ui/run/GanttPanel'
import { LoaderSettings } from '../../src/ui/run/LoaderSettings'
import { RanksPanel } from '../../src/ui/run/RanksPanel'
import { RunFacts } from '../../src/ui/run/RunFacts'
import { RunHead } from '../../src/ui/run/RunHead'
import { SignalsPanel } from '../../src/ui/run/SignalsPanel'
import { RangeChoice } from '../../src/ui/run/TimePanels'
import { Verdict } from '../../src/ui/run/Verdict'
import { WorkersPanel } from '../../src/ui/run/WorkersPanel'
import { type Recording, recordCanvas } from '../charts/recording'
import { advice, diagnosis, run, undecided, worker, workersPage } from '../made'

afterEach(() => {
  cleanup()
  navigate('/', 'replace')
})
const seen = () => (document.body.textContent ?? '').replace(/\s+/g, ' ')

describe('the head of a run', () => {
  test('links to its runs in other tools, and says where those are that have no page', () => {
    const trackers = [
      { tracker: 'wandb', run: 'w1', url: 'https://wandb.ai/t/p/runs/w1' },
      { tracker: 'tensorboard', run: 'logs/first', url: null },
      { tracker: 'newer', run: 'n1', url: null },
    ]
    render(<RunHead run={run({ trackers })} loader={null} />)
    const link = screen.getByRole('link', { name: 'W&B' })
    expect(link.getAttribute('href')).toBe('https://wandb.ai/t/p/runs/w1')
    expect(link.getAttribute('rel')).toContain('noopener')
    expect(seen()).toContain('TensorBoard logs/first')
    expect(seen()).toContain('newer n1')
  })

  test('says where a scheduler has it, and nothing of one that did not start it', () => {
    const { unmount } = render(<RunHead run={run()} loader={null} />)
    expect(seen()).not.toMatch(/SLURM|pod|queue/)
    unmount()
    const pods = ['llama-0-x', 'llama-1-y']
    render(
      <RunHead
        run={run({ slurm_job_id: '4711', queue: 'gpu', namespace: 'team-a', train_job: 'llama', pods })}
        loader={null}
      />,
    )
    for (const words of ['SLURM job 4711', 'queue gpu', 'namespace team-a', 'train job llama', '2 pods'])
      expect(seen()).toContain(words)
  })

  test('shows notes as Markdown, and HTML in them as it was typed', () => {
    render(
      <RunHead run={run({ notes: '**slow** on `node-1`\n- <img src=x onerror=alert(1)>' })} loader={null} />,
    )
    expect(document.querySelector('.notes strong')?.textContent).toBe('slow')
    expect(document.querySelector('.notes code')?.textContent).toBe('node-1')
    expect(document.querySelector('.notes li')?.textContent).toBe('<img src=x onerror=alert(1)>')
    expect(document.querySelector('.notes img')).toBeNull()
  })
})

describe('the verdict', () => {
  test('says beside its word that pauses take more than the waits', () => {
    render(<Verdict run={run()} diagnosis={diagnosis({ is_mostly_paused: true })} />)
    expect(document.querySelector('.kind')?.textContent).toMatch(/^Paused, data-bound/)
  })

  test('says what was lost, how fast it is, and what the first fix saves', () => {
    render(<Verdict run={run()} diagnosis={diagnosis()} />)
    expect(screen.getByRole('heading').textContent).toBe('The GPU waits for data 43% of every step.')
    expect(seen()).toContain(
      '9.4 GPU-hourslost to waiting for data so far, of 21.9 GPU-hours in the training loop',
    )
    expect(seen()).toContain('621 samples/snow; 1,087 if no step waited for data')
    expect(seen()).toContain(
      '7.1–9.1 GPU-hourssaved over the same steps if you raise num_workers from 4 to 8',
    )
  })

  test('names what the first fix saves, shows the step with that one, and none with another', () => {
    const untried = advice({
      change: 'in_order',
      title: 'Deliver out of order',
      is_promised: false,
      predicted_speedup: null,
      anatomy: null,
    })
    const { rerender } = render(
      <Verdict run={run()} diagnosis={diagnosis({ advice: [advice(), untried] })} />,
    )
    expect(seen()).toContain('saved over the same steps if you raise num_workers from 4 to 8')
    expect(screen.getByLabelText(/With num_workers=8: 254 ms/)).toBeTruthy()
    rerender(
      <Verdict run={run()} diagnosis={diagnosis({ advice: [untried, advice()], hours_saved: null })} />,
    )
    expect(seen()).not.toContain('saved')
    expect(screen.queryByLabelText(/With /)).toBeNull()
  })

  test('leads to the first fix, where that stands far below', () => {
    const link = () => document.querySelector<HTMLAnchorElement>('.first-fix')
    const label = () => link()?.textContent
    const untried = { is_promised: false, predicted_speedup: null }
    const { rerender } = render(<Verdict run={run()} diagnosis={diagnosis()} />)
    expect(label()).toBe('Raise num_workers from 4 to 8× 1.48–1.71')
    rerender(<Verdict run={run()} diagnosis={diagnosis({ advice: [advice(untried), advice()] })} />)
    expect(label()).toBe('Raise num_workers from 4 to 8Worth a try')
    expect(link()?.getAttribute('href')).toBe('#fix-1')
    rerender(<Verdict run={run()} diagnosis={diagnosis({ advice: [advice(untried)] })} />)
    expect(label()).toBe('Raise num_workers from 4 to 8Worth a try')
    const elsewhere = {
      advice: [],
      beside_loader: 'Other jobs use the cores: move them.',
      is_beside_first: true,
    }
    rerender(<Verdict run={run()} diagnosis={diagnosis(elsewhere)} />)
    expect(label()).toBe('Other jobs use the cores: move them.')
    expect(link()?.getAttribute('href')).toBe('#fixes')
    rerender(<Verdict run={run()} diagnosis={diagnosis({ ...elsewhere, advice: [advice(untried)] })} />)
    expect(label()).toBe('Other jobs use the cores: move them.')
    rerender(
      <Verdict
        run={run()}
        diagnosis={diagnosis({ ...elsewhere, advice: [advice()], is_beside_first: false })}
      />,
    )
    expect(label()).toContain('Raise num_workers')
    rerender(<Verdict run={run()} diagnosis={diagnosis({ advice: [] })} />)
    expect(link()).toBeNull()
    rerender(<Verdict run={run()} diagnosis={diagnosis()} leadsToFixes={false} />)
    expect(link()).toBeNull()
    cleanup()
    render(<AdviceList run={run()} diagnosis={diagnosis({ advice: [advice(untried), advice()] })} />)
    expect(document.querySelectorAll('.fix.first')).toHaveLength(1)
    expect(document.querySelector('.fix.first')?.id).toBe('fix-1')
  })

  test('says how much of what was lost went to copies, where they were measured', () => {
    render(<Verdict run={run()} diagnosis={diagnosis({ bound: 'transfer', copy_hours_lost: 9 })} />)
    expect(seen()).toContain(
      'lost to waiting for data and copies so far, 9 GPU-hours of it to copies, of 21.9',
    )
  })

  test('of a run whose length is known says what will be lost until its end, and how much sooner it could be', () => {
    const outlook = {
      last_step: 56_250,
      basis: '90 epochs of 625 steps: --epochs=90',
      hours_to_lose: 10.6,
      hours_lost_per_hour: 0.43,
      left_s: 12_000,
      saved_fraction: 0.38,
      saved_low_fraction: 0.32,
      saved_high_fraction: 0.41,
      saved_s: 4_560,
    }
    const { rerender } = render(<Verdict run={run({ outlook })} diagnosis={diagnosis()} />)
    expect(seen()).toContain(
      '10.6 GPU-hoursmore will be lost by step 56,25090 epochs of 625 steps: --epochs=90',
    )
    expect(seen()).toContain(
      '1 h 04 min – 1 h 22 minearlier finish, if you restart now and raise num_workers from 4 to 8',
    )
    const open = {
      ...outlook,
      last_step: null,
      basis: null,
      hours_to_lose: null,
      left_s: null,
      saved_s: null,
    }
    rerender(<Verdict run={run({ outlook: open })} diagnosis={diagnosis()} />)
    expect(seen()).toContain('25.8 GPU-minuteswill be lost per further hour')
    expect(seen()).toContain('19–24 minsaved per further hour')
  })

  test('says what the headline is of, and the causes where these are of fewer steps', () => {
    const kind = () => document.querySelector('.kind')?.textContent
    const { rerender } = render(<Verdict run={run()} diagnosis={diagnosis()} />)
    expect(kind()).toMatch(/confidence high, from the last [\d,]+ steps, host clock/)
    const all = diagnosis({ judged_stall_fraction: 0.4, judged_steps: 145, steps: 150 })
    rerender(<Verdict run={run()} diagnosis={all} />)
    expect(kind()).toContain(
      'high, over all 150 steps (causes from the last 145, where it is 40%), host clock',
    )
  })

  test('begins its figures with the time in which the program was started again, where that is most', () => {
    render(<Verdict run={run()} diagnosis={diagnosis({ hours_restarting: 12 })} />)
    expect(document.querySelector('.cost p')?.textContent).toMatch(
      /^12 GPU-hourswent by while the program was started again/,
    )
    cleanup()
    render(<Verdict run={run()} diagnosis={diagnosis()} />)
    expect(seen()).not.toContain('started again')
  })

  test('says how much of the time used was spent in pauses', () => {
    render(<Verdict run={run()} diagnosis={diagnosis({ paused_fraction: 0.5 })} />)
    expect(seen()).toContain('GPU-hoursin pauses, 50% of 21.9 GPU-hours in the training loop')
    expect(seen()).toContain('621 between pauses, where it would be 1,087 if no step waited for data')
    cleanup()
    render(<Verdict run={run()} diagnosis={diagnosis({ paused_fraction: 0.02 })} />)
    expect(seen()).not.toContain('pauses')
  })

  test('counts what was lost since the step that the headline is about, and names the rest', () => {
    render(<Verdict run={run()} diagnosis={diagnosis({ judged_from_step: 180 })} />)
    expect(seen()).toMatch(
      /lost to waiting for data since step 180, of .* steps that are judged; over all 29,415 steps /,
    )
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

  test('says what to do where no gain of it is promised', () => {
    const tried = advice({ title: 'Share tensors by name', is_promised: false })
    render(<Verdict run={run()} diagnosis={diagnosis({ advice: [tried] })} />)
    expect(seen()).toContain('Worth a tryShare tensors by name')
    cleanup()
    render(<Verdict run={run()} diagnosis={diagnosis()} />)
    expect(seen()).not.toContain('Worth a try')
  })

  test('copies that are all of the loss are not stated twice', () => {
    const all = { gpu_hours_lost: 9.4, hours_lost: 9.4, copy_hours_lost: 9.39 }
    render(<Verdict run={run()} diagnosis={diagnosis(all)} />)
    expect(seen()).toContain(
      'lost to waiting for data and copies so far, nearly all of it to copies, of 21.9',
    )
  })

  test('figures of a run that has ended, and of which the last is not judged, are not final', () => {
    const ended = run({ status: 'finished' })
    const last = diagnosis({ status: 'finished' })
    render(<Verdict run={ended} diagnosis={{ ...last, is_final: false }} />)
    expect(seen()).toMatch(/not final.*lost to waiting for data so far/)
    cleanup()
    render(<Verdict run={ended} diagnosis={{ ...last, is_final: true }} />)
    expect(seen()).not.toMatch(/not final|so far/)
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
    expect(document.querySelector('.gain')?.textContent).toBe('× 1.48–1.71')
    expect(screen.getByLabelText(/Predicted speed-up 1.62, interval 1.48 to 1.71, ceiling 1.75/)).toBeTruthy()
    expect(seen()).toContain('A worker needs for one batch1.65 s')
    expect(document.querySelector('.added')?.textContent).toContain('num_workers=8')
  })

  test('shows lines of the program as such, and a sketch as one, with the reason', () => {
    const lines = { diff: '+Data("…", num_workers=8)', diff_file: 'data.py:12' }
    const { unmount } = render(<AdviceList run={run()} diagnosis={diagnosis({ advice: [advice(lines)] })} />)
    expect(document.querySelector('.diff-file')?.textContent).toContain(
      'data.py:12, without what is in quotes',
    )
    expect(screen.getByRole('button', { name: /Copy diff/ })).toBeTruthy()
    unmount()
    const commented = advice({ ...lines, diff: '+Data("…",  # …' })
    const { unmount: leave } = render(
      <AdviceList run={run()} diagnosis={diagnosis({ advice: [commented] })} />,
    )
    expect(seen()).toContain('data.py:12, without what is in quotes and in comments')
    leave()
    const sketch = advice({ ...lines, sketch: 'num_workers is args.n here' })
    render(<AdviceList run={run()} diagnosis={diagnosis({ advice: [sketch] })} />)
    expect(screen.getByRole('button', { name: /Copy sketch/ })).toBeTruthy()
    expect(seen()).toContain('A sketch of data.py:12: num_workers is args.n here.')
  })

  test('shows every change of a long sketch, and folds what it remarks after them', () => {
    const remarks = Array.from({ length: 9 }, (_, index) => ` # ${index}: or ${'so '.repeat(20)}`)
    const diff = (changed: number) =>
      [...remarks.slice(0, changed), '+changed()', ...remarks.slice(changed)].join('\n')
    const lines = () => [...document.querySelectorAll('.diff > pre > span')].length
    const { rerender } = render(
      <AdviceList run={run()} diagnosis={diagnosis({ advice: [advice({ diff: diff(2) })] })} />,
    )
    expect(lines()).toBe(3)
    expect(document.querySelector('.diff > details')?.textContent).toMatch(
      /^7 more lines # 2: or .* # 8: or /s,
    )
    rerender(<AdviceList run={run()} diagnosis={diagnosis({ advice: [advice({ diff: diff(8) })] })} />)
    expect(lines()).toBe(10)
    rerender(<AdviceList run={run()} diagnosis={diagnosis({ advice: [advice({ diff: '+a\n b\n c' })] })} />)
    expect(lines()).toBe(3)
    expect(document.querySelector('.diff > details')).toBeNull()
  })

  test('is open where it is what to do first', () => {
    const isOpen = () => document.querySelector<HTMLDetailsElement>('#fix-1')?.open
    const outside = { beside_loader: 'Move the other jobs', is_beside_first: true }
    render(<AdviceList run={run()} diagnosis={diagnosis(outside)} />)
    expect(isOpen()).toBe(false)
    cleanup()
    render(<AdviceList run={run()} diagnosis={diagnosis({ ...outside, is_beside_first: false })} />)
    expect(isOpen()).toBe(true)
  })

  test('that cannot be predicted has no figure', () => {
    const unknown = advice({
      ...{ predicted_speedup: null, low: null, high: null, ceiling: null, anatomy: null },
      is_promised: false,
    })
    render(<AdviceList run={run()} diagnosis={diagnosis({ advice: [unknown] })} />)
    expect(seen()).toContain('try it: gain not known')
    expect(seen()).not.toMatch(/× \d/)
  })

  test('that may gain nothing is one to try, with what it may be', () => {
    const wide = advice({ predicted_speedup: 1.3, low: 0.94, high: 1.6, is_promised: false })
    render(<AdviceList run={run()} diagnosis={diagnosis({ advice: [wide] })} />)
    expect(seen()).toContain('try it: may be × 0.94–1.60')
    expect(document.querySelector('.gain')).toBeNull()
    expect(screen.queryByLabelText(/Predicted speed-up/)).toBeNull()
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
    expect(seen()).toContain('No setting helps')
    const elsewhere = { advice: [], beside_loader: 'Other jobs use the cores: move them.' }
    rerender(<AdviceList run={run()} diagnosis={diagnosis(elsewhere)} />)
    expect(seen()).toContain('What to doOther jobs use the cores: move them.gain not known')
    rerender(<AdviceList run={run()} diagnosis={diagnosis({ ...elsewhere, beside_speedup: 1.583 })} />)
    expect(seen()).toContain(
      'Other jobs use the cores: move them.× 1.58 at mostgain in the time of the loops',
    )
    const title = 'Move the other jobs off these 2 cores'
    const beside = [{ title, detail: 'Or give this run its own.', speedup: 2.35, hours_saved: 0.5 }]
    const outside = diagnosis({ ...elsewhere, beside_speedup: 2.35, is_beside_first: true, beside })
    rerender(<AdviceList run={run()} diagnosis={outside} />)
    expect(seen()).toContain(`${title}× 2.35 at mostgain in the time of the loopsOr give this run its own.`)
    expect(seen()).not.toContain('No setting helps')
    rerender(<AdviceList run={run()} diagnosis={undecided()} />)
    expect(seen()).toContain('None yet')
  })

  test('begin with the setting that the run found by itself, for the next one', () => {
    const title = 'Write num_workers=2 into the program'
    const to_write = { title, gain: '× 1.91 measured', detail: 'In use.', lines: ['num_workers=2,'] }
    render(<AdviceList run={run()} diagnosis={diagnosis({ advice: [], to_write })} />)
    expect(seen()).toContain(`What to do${title}× 1.91 measuredIn use.num_workers=2,`)
    expect(seen()).not.toContain('No setting helps')
    cleanup()
    render(<Verdict run={run()} diagnosis={diagnosis({ to_write })} />)
    expect(document.querySelector('.first-fix')?.textContent).toBe(`${title}× 1.91 measured`)
    const outside = {
      beside_loader: 'Move the other jobs.',
      is_beside_first: true,
      beside: [{ title: 'Move the other jobs', detail: '', speedup: 1.2, hours_saved: 0.5 }],
    }
    cleanup()
    render(<Verdict run={run()} diagnosis={diagnosis({ advice: [], ...outside, to_write })} />)
    expect(document.querySelector('.cost')?.textContent).toMatch(
      /× 1.91 measuredif you write num_workers=2 into the program: the next run begins without it$/,
    )
    expect(document.querySelector('.cost')?.textContent).not.toMatch(/up to|saved/)
  })

  test('of a crashed run come after the crash, with its error and where in the program it was raised', () => {
    const exit_reason = [
      'Traceback (most recent call last):',
      '  File "/home/ada/train.py", line 14, in __getitem__',
      '  File "/opt/lib/python3.12/site-packages/PIL/Image.py", line 99, in open',
      'OSError: image file is truncated',
    ].join('\n')
    render(<AdviceList run={run({ status: 'crashed', exit_reason })} diagnosis={diagnosis()} />)
    expect(seen()).toMatch(
      /^What to doFirst, mend what ended the runOSError: image file is truncatedLook at line 14 of train.py, in __getitem__, and at what it was called with: repair that sample or leave it out.Raise/,
    )
    expect(document.querySelector('.fix.first')).toBeNull()
  })

  test('an address is a link of one word, and a name of a loader stays whole', () => {
    const why = 'Save less often (https://example.org/docs/checkpoints). The loop over loader-1 waits.'
    render(<Verdict run={run()} diagnosis={diagnosis({ why })} />)
    expect(screen.getByRole('link', { name: 'docs' }).getAttribute('href')).toBe(
      'https://example.org/docs/checkpoints',
    )
    expect(document.querySelector('.why')?.textContent).toContain('Save less often (docs). The loop')
    expect(document.querySelector('.whole')?.textContent).toBe('loader-1')
  })

  test('say what instant data would gain by the figures of the verdict, and what it may gain beyond them', () => {
    const could = { instant_data_steps_per_s: 5, instant_data_high_steps_per_s: 5 }
    const { rerender } = render(<AdviceList run={run()} diagnosis={diagnosis(could)} />)
    const note = () => document.querySelector('.note')?.textContent?.replaceAll('\u00a0', ' ')
    // A step of 412 ms of which 177 ms are waits.
    expect(note()).toBe(
      'Gains do not add up. If no step waited for data: × 1.75, 235 ms per step. If loading slows the rest of a step, too: up to × 2.06, 200 ms.',
    )
    rerender(
      <AdviceList run={run()} diagnosis={diagnosis({ ...could, instant_data_high_steps_per_s: null })} />,
    )
    expect(note()).toContain('up to × 2.06')
    const alike = { instant_data_steps_per_s: 4.26, instant_data_high_steps_per_s: 4.27 }
    rerender(<AdviceList run={run()} diagnosis={diagnosis(alike)} />)
    expect(note()).toMatch(/235 ms per step\.$/)
    cleanup()
    render(<AdviceList run={run()} diagnosis={diagnosis({ ...could, copy_hours_lost: 0.5 })} />)
    expect(note()).toContain('waited for data:')
    cleanup()
    render(<AdviceList run={run()} diagnosis={diagnosis({ ...could, bound: 'transfer' })} />)
    expect(note()).toContain('waited for data or copies:')
    cleanup()
    render(<Verdict run={run()} diagnosis={diagnosis(could)} />)
    // 621 samples/s × 1.75
    expect(seen()).toMatch(/1,08\d if no step waited for data/)
  })

  test('refusals carry their reason', () => {
    const refusal = {
      change: 'tmpfs' as const,
      change_label: 'data set in memory',
      title: 'A copy in tmpfs',
      why: 'All from the cache.',
      evidence: [],
    }
    render(<AdviceList run={run()} diagnosis={diagnosis({ refusals: [refusal] })} />)
    expect(seen()).toContain('What would not help 1A copy in tmpfsAll from the cache.')
  })
})

test('signals say what a figure is a share of, and what could not be measured', () => {
  const measured = { what: 'of requests', value: 0.93, unit: 'fraction' as const, series: null }
  render(
    <SignalsPanel
      isWell={false}
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

test('of many signals those that speak for a cause are shown, and what was ruled out where they are few', () => {
  const measured = { what: 'of requests', value: 0.1, unit: 'fraction' as const, series: null }
  const readings = ['ruled_out', 'not_measured', 'ruled_out', 'cause', 'not_measured', 'symptom'] as const
  const signals = Array.from({ length: 18 }, (_, at) => {
    const reading = readings[at % readings.length] ?? 'cause'
    return { signal: `signal ${at}`, measured, healthy: '', reading, says: reading }
  })
  render(<SignalsPanel isWell={false} signals={signals} />)
  const rows = () => [...document.querySelectorAll('tbody th')].map(cell => cell.textContent)
  expect(rows()).toEqual([3, 5, 9, 11, 15, 17].map(at => `signal ${at}`))
  fireEvent.click(screen.getByText('Show all 18'))
  expect(rows()).toHaveLength(18)
  cleanup()
  render(<SignalsPanel isWell={false} signals={signals.slice(0, 5)} />)
  expect(rows()).toEqual([3, 0, 2].map(at => `signal ${at}`))
})

test('hosts that are alike are described once', () => {
  const unknown = ['cpu_model', 'quota_cores', 'usable_cores', 'memory_total_bytes', 'memory_limit_bytes']
  const facts = Object.fromEntries(
    [...unknown, 'shm_total_bytes', 'numa_nodes', 'open_files_limit'].map(name => [name, null]),
  )
  const host = (hostname: string, cpu_count: number) =>
    ({ ...facts, hostname, cpu_count, allowed_cpus: cpu_count }) as HostFacts
  const alike = Array.from({ length: 31 }, (_, at) => host(`gpu-${at}`, 96))
  render(<Footnote run={run({ hosts: [...alike, host('odd', 8)] })} />)
  expect(document.querySelector('details')?.open).toBe(false)
  const lines = [...document.querySelectorAll('details > p')].map(line => line.textContent)
  expect(lines).toHaveLength(2)
  expect(lines[0]).toMatch(/^gpu-0, gpu-1 and 29 more: .*96 CPU cores/)
  expect(lines[1]).toMatch(/^odd: .*8 CPU cores/)
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
    'was 8 in the previous run',
    'was ImageFolder, 7 samples in the previous run',
  ])
})

test('command, versions and configuration are shown, and what was set otherwise before', () => {
  const previous = run({ torch_version: '2.12.0', config: { lr: 0.1 } })
  render(<RunFacts run={run({ config: { lr: 0.2, seed: 7 } })} previous={previous} />)
  expect(seen()).toContain('python train.py')
  expect(seen()).toContain('torch2.13.0was 2.12.0 in the previous run')
  expect(seen()).toContain('config.lr0.2was 0.1')
  expect(seen()).toContain('config.seed7was not set')
})

test('versions of the device are shown where they are known, and one that was not known before is no change', () => {
  const hosts = [
    { gpu_driver: '580.95.05' },
    { gpu_driver: '580.95.05' },
    { gpu_driver: null },
  ] as HostFacts[]
  const versions = { cuda_version: '13.0', cudnn_version: '9.20.0' }
  const previous = run({ ...versions, cudnn_version: null, cuda_version: '12.8' })
  render(<RunFacts run={run({ ...versions, hosts })} previous={previous} />)
  expect(seen()).toContain('cuda13.0was 12.8 in the previous run')
  expect(seen()).toContain('cudnn9.20.0gpu driver580.95.05agent')
  expect(seen()).not.toContain('rocm')
})

describe('ranks', () => {
  const show = (count: number, straggler: number | null = 5, spread = 0) => {
    const ranks = Array.from({ length: count }, (_, rank) => ({
      rank,
      data_stall_fraction: rank === straggler ? 0.4 : 0.1 + (rank * spread) / count,
      straggler: rank === straggler,
      works_longer: false,
    }))
    const store = { selection: signal({ rank: null }), series: signal({ rank: 0 }), select: vi.fn() }
    render(<RanksPanel store={store as never} diagnosis={diagnosis({ ranks })} />)
    return store
  }
  test('the straggler is named, and a rank is chosen from them', () => {
    const store = show(8)
    expect(seen()).toContain('Rank 5: waited for by all others in every step.')
    fireEvent.click(screen.getByRole('radio', { name: 'rank 5, straggler: 40%' }))
    expect(store.select).toHaveBeenCalledWith({ rank: 5, range: { kind: 'whole' } })
  })
  test('that are alike are folded into what they all wait', () => {
    show(4, null, 0.04)
    expect(document.querySelector('details#ranks')?.textContent).toContain('Rank by rankdata wait 10%–13%')
    cleanup()
    show(4, null, 0.2)
    expect(document.querySelector('details#ranks')).toBeNull()
  })
  test('sixty-four of them are a field of cells, each with its share in words', () => {
    show(64)
    expect(screen.getAllByRole('radio')).toHaveLength(64)
    expect(document.querySelectorAll('.rank-cells label')).toHaveLength(64)
    expect(screen.getByRole('radio', { name: 'rank 63: 10%' })).toBeTruthy()
  })
})

describe('the timeline', () => {
  const at = (index: number) => ({ epoch_index: 0, batch_index: index, start_us: index * 1_000 })
  const made = (count: number): Timeline => {
    const steps = Array.from({ length: count }, (_, index) => ({
      ...at(index),
      ...{ step_index: index, data_wait_us: 100, step_us: 1_000 },
      ...{ gpu_idle_us: null, queue_depth: null, sampler_us: null },
    }))
    const batches = steps.map((_, index) => ({
      ...at(index),
      ...{ worker: 0, load_us: 900, cpu_us: 900, runqueue_us: 0, blocked_us: 0 },
      ...{ collate_us: null, pin_us: null, received_us: null },
    }))
    const of = { run_id: 'run-1', rank: 0, loader: 'train', missing: null }
    return { ...of, from_us: 0, to_us: count * 1_000, steps, batches }
  }
  const panel = (count: number) => <GanttPanel timeline={made(count)} series={null} run={run()} />
  const press = (key: string) =>
    fireEvent.keyDown(screen.getByRole('group', { name: /^Timeline of/ }), { key })
  beforeEach(() => {
    recordCanvas()
    vi.spyOn(HTMLElement.prototype, 'clientWidth', 'get').mockReturnValue(1_000)
  })
  afterEach(() => vi.restoreAllMocks())

  test('is named by the steps that it shows at first', () => {
    render(panel(90))
    expect(screen.getByRole('heading').textContent).toBe('The last 20 steps')
    expect(seen()).toContain('Press f to show all 90 steps.')
  })

  test('is walked through batch by batch, and does not move meanwhile', () => {
    const { rerender } = render(panel(90))
    press(',')
    expect(seen()).toContain('batch 89, worker 0: 900 µs')
    rerender(panel(95))
    press('.')
    expect(seen()).toContain('batch 89, worker 0: 900 µs')
  })

  test('has a stretch that a drag chooses and a press clears', () => {
    render(panel(90))
    const canvas = document.querySelector('.gantt canvas') as HTMLCanvasElement
    canvas.setPointerCapture = () => {}
    const pointer = (name: string, offsetX: number) =>
      fireEvent(canvas, Object.assign(new Event(name, { bubbles: true }), { offsetX, offsetY: 5, button: 0 }))
    pointer('pointerdown', 500)
    pointer('pointermove', 503)
    expect(seen()).not.toContain('In this stretch of')
    pointer('pointermove', 700)
    expect(seen()).toContain('In this stretch of 4.42 ms')
    pointer('pointerup', 700)
    pointer('pointerdown', 500)
    expect(seen()).not.toContain('In this stretch of')
  })
})

test('a stretch of the timeline is summed up, steps cut where it cuts them', () => {
  const step = (start_us: number, data_wait_us: number) => ({ start_us, data_wait_us })
  const timeline = { steps: [step(0, 400_000), step(1_000_000, 300_000)], to_us: 2_000_000 }
  expect(stretchText(timeline as never, { fromUs: 200_000, toUs: 1_200_000 }, 1)).toContain(
    'In this stretch of 1 s the GPU waits 400 ms (40%), and 1 step begins.',
  )
})

test('the footnote states cost, losses and what was not measured', () => {
  const { rerender } = render(<Footnote run={run()} />)
  expect(seen()).toContain('measuring costs 3.6 µs per step (< 0.1%) · nothing recorded was dropped')
  rerender(<Footnote run={run({ steps: 18, overhead_us: 8_260 })} />)
  expect(seen()).toContain('measuring took 149 ms in the first 18 steps, its start included')
  expect(seen()).not.toContain('per step')
  const losses = { ...run().losses, dropped_windows: 3 }
  const not_measured = {
    gpu_util_fraction: 'no NVIDIA driver',
    h2d_us: 'no copies',
    gpu_driver: 'no NVIDIA driver',
  }
  rerender(<Footnote run={run({ losses, not_measured })} />)
  expect(seen()).toContain('3 windows dropped because the spool was full')
  expect(seen()).toContain('gpu_util_fraction, gpu_driver no NVIDIA driverh2d_us no copies')
})

describe('workers', () => {
  let drawn: readonly Recording[]
  beforeEach(() => {
    drawn = recordCanvas()
  })
  const show = (...workers: WorkerInfo[]) =>
    render(<WorkersPanel page={workersPage({ workers, limit_us: 900 })} run={run({ gpus: 0 })} />)

  test('can be read as a table', () => {
    show(worker({ rss_bytes: 2 ** 30, rss_bytes_per_hour: -(2 ** 20), threads: 4, died: 1 }))
    expect(seen()).toContain('Limit: loads of 900 µs per batch on average, since')
    fireEvent.click(screen.getByRole('button', { name: /As table/ }))
    expect(location.search).toBe('?table=workers')
    const cells = [...document.querySelectorAll('td')].map(cell => cell.textContent)
    expect(cells.slice(0, 8)).toEqual(['10', '1 ms', '2 ms', '3 ms', '–', '2.0%', '4.0%', '–'])
    expect(cells.slice(8)).toEqual(['1 GiB', '–', '−1 MiB', '4', '1', '0'])
  })

  test('of which none is to blame are folded into the side of the limit that they are on, until one is', () => {
    const median = (load_us_p50: number, number: number) => worker({ worker: number, load_us_p50 })
    const isFolded = () => document.querySelector('details#workers') !== null
    const { rerender } = show(median(1_000, 0), median(1_200, 1))
    expect(document.querySelector('#workers > summary')?.textContent).toBe(
      'Worker by workerall medians are above the limit of 900 µs',
    )
    const later = (...workers: WorkerInfo[]) =>
      rerender(<WorkersPanel page={workersPage({ workers, limit_us: 900 })} run={run({ gpus: 0 })} />)
    later(median(500, 0), median(1_200, 1))
    expect(isFolded()).toBe(false)
    later(median(1_000, 0), median(1_200, 1))
    expect(isFolded()).toBe(false)
    cleanup()
    show(median(1_000, 0), { ...median(1_200, 1), died: 1 })
    expect(isFolded()).toBe(false)
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
      'Worker 1 grows by 512 MiB per hour.',
      '1 GiB to 2 GiB of memory each (256 MiB unshared), 5 threads.',
    ])
  })

  test('alone take memory, and not each', () => {
    show(worker({ rss_bytes: 2 ** 28, threads: 3 }))
    expect(document.querySelector('.worker-notes li')?.textContent).toBe('256 MiB of memory, 3 threads.')
  })

  test('of which nothing was sampled say nothing', () => {
    show(worker())
    expect(document.querySelectorAll('.worker-notes li').length).toBe(0)
  })

  test('that loaded nothing have a row without figures', () => {
    const none = { load_us_p5: null, load_us_p50: null, load_us_p95: null, load_us_mean: null }
    show(worker(), worker({ ...none, worker: 1, batches: 0 }))
    expect(drawn[0]?.texts()).toEqual(expect.arrayContaining(['worker 0', 'worker 1', 'no batch']))
    cleanup()
    const idle = worker({ ...none, worker: 1, batches: 0, died: 1 })
    const page = workersPage({ workers: [idle], missing: 'no batch was recorded' })
    render(<WorkersPanel page={page} run={run()} />)
    expect(seen()).toContain('No batch was recorded.Worker 1 died.')
  })

  test('are followed by the thread that pins', () => {
    render(<WorkersPanel page={workersPage({ workers: [worker()], pin_us_p50: 1_400 })} run={run()} />)
    expect(seen()).toContain('The pin-memory thread then takes 1.4 ms per batch.')
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

test('the wait says how much of it the GPU idled, and what the sampler took', () => {
  const anatomy = { step_us: 100, data_wait_us: 40, h2d_exposed_us: null, compute_us: 60 }
  const { rerender } = render(
    <AnatomyBars now={{ ...anatomy, gpu_idle_us: 0, sampler_us: 7 }} advice={null} loader={null} />,
  )
  expect(seen()).toContain('Of the data wait: 0 µs with the GPU idle, 7 µs in the sampler.')
  rerender(<AnatomyBars now={{ ...anatomy, sampler_us: 1 }} advice={null} loader={null} />)
  expect(seen()).not.toContain('Of the data wait')
})

test('a part of the step has its words once: in the bar, or below it where that is too narrow', () => {
  const anatomy = { step_us: 1_000, data_wait_us: 840, h2d_exposed_us: null, compute_us: 160 }
  render(<AnatomyBars now={anatomy} advice={null} loader={null} />)
  expect(document.querySelector('.anatomy-bar > .compute')?.textContent).toBe('')
  expect(document.querySelector('.anatomy-key')?.textContent).toBe('160 µs compute')
  expect(document.querySelector('.anatomy-bar > .wait')?.textContent).toBe('840 µs data wait')
  cleanup()
  render(<AnatomyBars now={{ ...anatomy, step_us: 400, data_wait_us: 240 }} advice={null} loader={null} />)
  expect(document.querySelector('.anatomy-bar > .compute')?.textContent).toBe('160 µs compute')
  expect(document.querySelector('.anatomy-key')).toBeNull()
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
  expect(seen()).toContain('2 NUMA nodes, limit of 1,024 open files')
  cleanup()
  render(<RunHead run={run({ restart_count: 2 })} loader={null} />)
  expect(seen()).toContain('restarted 2 times')
})

describe('what stands beside a verdict', () => {
  const shared: SharedCause = {
    cause: 'storage_wait',
    cause_label: 'slow storage',
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
    expect(seen()).toContain('at nas:/x at one time. Together they lost 4 hours. The others: resnet.')
    expect(screen.getByRole('link', { name: 'resnet' }).getAttribute('href')).toContain('run-2')
    expect(document.querySelector('.shared details')).toBeNull()
  })

  test('many runs that share its cause are counted, and named where one asks for them', () => {
    const runs = ['a', 'b', 'c', 'd'].map(name => ({ run_id: name, name, hours_lost: 1 }))
    const many = { ...shared, runs: [...runs, { run_id: 'run-1', name: 'vit', hours_lost: 1 }] }
    render(<Verdict run={run({ run_id: 'run-1' })} diagnosis={diagnosis({ shared: [many] })} />)
    expect(document.querySelector('.shared summary')?.textContent).toBe('The 4 others')
    expect(document.querySelector('.shared details')?.textContent).toBe('The 4 othersa, b, c, d')
  })

  test('a measured speed with instant data stands beside the computed one', () => {
    const replay = { run_id: 'run-1', batches: 20, real_steps_per_s: 2.4, instant_steps_per_s: 4.05 }
    const { rerender } = render(<Verdict run={run()} diagnosis={diagnosis()} />)
    expect(seen()).toContain('621 samples/snow; 1,087 if no step waited for data')
    rerender(<Verdict run={run()} diagnosis={diagnosis({ replay })} />)
    expect(seen()).toContain('with instant data 1,087 computed, 1,035 measured in a replay of 20 batches')
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

test('a part of a run is offered by how long it ran, whenever it was seen', () => {
  const ran = run({ started_at: '2026-11-21T12:00:00Z', ended_at: '2026-11-21T12:20:00Z' })
  const late = { ...ran, last_seen_at: '2026-11-21T18:00:00Z' }
  const chosen = { rank: null, loader: null, range: { kind: 'whole' }, figures: 'mean' }
  const store = { run: signal(late), selection: signal(chosen), series: signal(null), shown: signal(null) }
  render(<RangeChoice store={store as never} />)
  expect(screen.getByRole('button', { name: '15 min' })).toBeTruthy()
  expect(screen.queryByRole('button', { name: '1 h' })).toBeNull()
})
