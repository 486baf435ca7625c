// @vitest-environment happy-dom
import { cleanup, render } from '@testing-library/preact'
import { afterEach, describe, expect, test } from 'vitest'
import type { LedgerEntry } from '../../src/api/schema'
import { Ledger } from '../../src/ui/parts/Ledger'
import { TrialsPanel } from '../../src/ui/run/TrialsPanel'
import { run, trial, tuning } from '../made'

afterEach(cleanup)

const seen = () => (document.body.textContent ?? '').replace(/\s+/g, ' ')
const rows = () =>
  [...document.querySelectorAll('.trials tbody tr')].map(row =>
    [...row.children].map(cell => cell.textContent),
  )

const TRIED = [
  trial(),
  trial({
    number: 1,
    settings: { num_workers: 3 },
    steps_per_s: 10.5,
    speedup: 2.1,
    predicted_speedup: 1.9,
    kept: true,
  }),
  trial({
    number: 2,
    settings: { num_workers: 2 },
    steps_per_s: null,
    low: null,
    high: null,
    reason: 'no room for it',
  }),
]

describe('what a run tried', () => {
  test('is each setting with its pace, beside what was predicted', () => {
    render(
      <TrialsPanel diagnosis={{ trials: TRIED, steps_per_s: 10, status: 'running' }} tuning={tuning()} />,
    )
    expect(seen()).toContain(
      'num_workers 0 → 3, prefetch_factor None → 2: × 2.10 as fast, measured in turns with the setting before (95%: 2.00 to 2.20).',
    )
    expect(rows()).toEqual([
      ['num_workers=0began with', '200 ms', '5 (4.9 to 5.1)', '', '', '30'],
      ['num_workers=3kept', '95.2 ms', '10.5 (4.9 to 5.1)', '× 2.10', '× 1.90', '30'],
      ['num_workers=2no room for it', '–', '–', '–', '–', '30'],
    ])
  })

  test('has the mean step before, while it tried, and since', () => {
    render(
      <TrialsPanel diagnosis={{ trials: TRIED, steps_per_s: 10, status: 'running' }} tuning={tuning()} />,
    )
    const figures = [...document.querySelectorAll('.trials-paces > div')].map(one => one.textContent)
    expect(figures).toEqual([
      'mean step before, in trials200 ms',
      'during 12 s of trials150 ms',
      'since then100 ms',
      'gained since then, against all steps before3 min 2 min to 4 min',
    ])
  })

  test('is folded, but for what came of it, once the run has ended', () => {
    render(
      <TrialsPanel
        diagnosis={{ trials: TRIED, steps_per_s: 10, status: 'finished' }}
        tuning={tuning({ gained_low_us: null, gained_high_us: null })}
      />,
    )
    expect(document.querySelector('details:not([open]) .data')).toBeTruthy()
    expect(seen()).toContain('gained since then, against all steps before3 min')
    expect(seen()).not.toContain('– to –')
  })

  test('is listed search by search, and what stayed is not called kept', () => {
    const again = [trial({ kept: true }), ...TRIED.map(one => ({ ...one, search: 1 }))]
    render(
      <TrialsPanel diagnosis={{ trials: again, steps_per_s: 10, status: 'finished' }} tuning={tuning()} />,
    )
    expect(rows().map(([setting]) => setting)).toEqual([
      'num_workers=0search 1: began with, and stayed',
      'num_workers=0search 2: began with',
      'num_workers=3kept',
      'num_workers=2no room for it',
    ])
    expect(seen()).toContain('Each setting with its pace: 3 measured, 1 not')
  })

  test('has no pace of trials that did not end', () => {
    const ended = tuning({ status: 'ended', kept: null, speedup: null, trial_us: 0, gained_us: null })
    render(<TrialsPanel diagnosis={{ trials: TRIED, steps_per_s: 10, status: 'finished' }} tuning={ended} />)
    const figures = [...document.querySelectorAll('.trials-paces > div')].map(one => one.textContent)
    expect(figures).toEqual(['mean step before, in trials200 ms'])
  })

  test('states no gain before there is one', () => {
    render(
      <TrialsPanel
        diagnosis={{ trials: TRIED, steps_per_s: 10, status: 'running' }}
        tuning={{ ...tuning(), gained_us: null }}
      />,
    )
    expect(seen()).not.toContain('gained since then')
  })

  test('says why nothing is tried', () => {
    const reason = 'an iterable is switched between epochs'
    const refused = tuning({
      status: 'refused',
      status_label: 'not tuned',
      kept: null,
      speedup: null,
      reason,
    })
    render(<TrialsPanel diagnosis={{ trials: [], steps_per_s: null, status: 'running' }} tuning={refused} />)
    expect(seen()).toContain('not tuned')
    expect(seen()).toContain('An iterable is switched between epochs.')
    expect(rows()).toEqual([])
  })

  test('is proof of its own', () => {
    const entry: LedgerEntry = {
      advice_of: 'run-1',
      run_id: 'run-1',
      change: 'num_workers',
      change_label: 'number of workers',
      settings: { num_workers: 3 },
      predicted_speedup: 1.9,
      low: 1.5,
      high: 2.3,
      is_narrow: true,
      observed_speedup: 2.1,
      observed_low: 2,
      observed_high: 2.2,
      inside_interval: true,
    }
    render(<Ledger run={run()} entries={[entry]} />)
    expect(seen()).toContain('Measured while it trained, by this run')
    expect(seen()).not.toContain('After:')
  })
})
