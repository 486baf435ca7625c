// @vitest-environment happy-dom
import { signal } from '@preact/signals'
import { cleanup, render, screen } from '@testing-library/preact'
import { afterEach, describe, expect, test } from 'vitest'
import type { BestAdvice, Week } from '../../src/api/schema'
import { navigate } from '../../src/router'
import { service } from '../../src/store/connection'
import { openRuns } from '../../src/store/runs'
import { RunsContext } from '../../src/ui/parts/stores'
import { COLUMNS } from '../../src/ui/runs/columns'
import { Empty } from '../../src/ui/runs/Empty'
import { RunRow } from '../../src/ui/runs/RunRow'
import { WeekHead } from '../../src/ui/runs/WeekHead'
import { summary, week } from '../made'

afterEach(() => {
  cleanup()
  navigate('/', 'replace')
})
const seen = () => (document.body.textContent ?? '').replace(/\s+/g, ' ')

describe('a row of the table', () => {
  const runs = openRuns()
  function show(changes: Parameters<typeof summary>[0]) {
    render(
      <table>
        <tbody>
          <RunsContext.Provider value={runs}>
            <RunRow row={signal(summary(changes))} columns={COLUMNS} index={0} />
          </RunsContext.Provider>
        </tbody>
      </table>,
    )
  }
  test('says what waits and what a fix gains', () => {
    show({})
    expect(seen()).toContain('43%')
    expect(seen()).toContain('× 1.48–1.71number of workers')
    expect(screen.getByRole('link').getAttribute('href')).toBe('/runs/run-1')
  })
  test('that waits for copies has no wait for data in their place', () => {
    show({ bound: 'transfer', data_stall_fraction: 0.002 })
    expect(seen()).toContain('for copiesfor data 0.2%')
    cleanup()
    show({ bound: 'transfer', data_stall_fraction: 0.002, copy_fraction: 0.22 })
    expect(seen()).toContain('22% for copiesfor data 0.2%')
    expect(document.querySelector('.wait-bar')).toBeNull()
  })
  const best = summary().best_advice as BestAdvice
  test('whose best advice promises nothing says which change is to be tried', () => {
    show({ best_advice: { ...best, predicted_speedup: 1.2, low: 0.9, high: 1.4, is_promised: false } })
    expect(seen()).toContain('try itnumber of workers')
    expect(seen()).not.toMatch(/× \d/)
  })
  test('says what the run gains where the gain is that of one loop, and of which', () => {
    const ofRun = { run_speedup: 1.19, run_low: 1.15, run_high: 1.22 }
    show({ best_advice: { ...best, ...ofRun, loader: 'val' } })
    expect(seen()).toContain('× 1.15–1.22number of workers')
    expect(document.querySelector('.fix-cell')?.getAttribute('title')).toBe(
      'number of workers: the loop over val × 1.48–1.71, which makes the run × 1.15–1.22',
    )
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
    expect(cells.filter(cell => cell === '–')).toHaveLength(7)
    expect(seen()).toContain('measuring')
    expect(document.querySelector('.wait-bar')).toBeNull()
  })
  test('of a run that carried advice says what it gained', () => {
    show({ observed_speedup: 1.71, observed_low: 1.52 })
    expect(seen()).toContain('✓ gained × 1.71')
  })
  test.each([{ observed_low: 0.45 }, { observed_low: null }, {}])(
    'has no tick beside a gain that may be none: %o',
    low => {
      show({ observed_speedup: 1.19, ...low })
      expect(seen()).toContain('observed × 1.19')
      expect(seen()).not.toMatch(/✓|gained/)
    },
  )
  test('between five and ten percent is some wait, not compute-bound', () => {
    show({ bound: 'compute', level: 'watch', data_stall_fraction: 0.07, cause: null })
    expect(seen()).toContain('some wait')
  })
})

describe('the week', () => {
  const sentence = (changes: Partial<Week>) => {
    cleanup()
    render(<WeekHead isOfAll week={week(changes)} />)
    return screen.getByRole('heading').textContent
  }
  test('is a sentence', () => {
    expect(sentence({})).toBe(
      'In seven days 412 of 2,290 GPU-hours went to waiting for data and copies: 18%, down from 23%.',
    )
    expect(sentence({ previous_hours_lost: 0, previous_hours_used: 0 })).toBe(
      'In seven days 412 of 2,290 GPU-hours went to waiting for data and copies: 18%.',
    )
    expect(sentence({ previous_hours_lost: 10 })).toContain('up from 0.4%')
    expect(sentence({ previous_hours_lost: 412, previous_hours_used: 2_290 })).toContain(
      'as in the week before',
    )
    expect(sentence({ hours_lost: 0.007, hours_used: 0.5, on_gpu: false })).toContain(
      '25.2 seconds of 30 minutes',
    )
    expect(sentence({ hours_lost: 0, hours_used: 0 })).toBe('No training was judged in the last seven days.')
  })
  test('has a figure for the highest day and one for the last, and not the same twice', () => {
    const days = week().days
    const lost = (last: number) => days.map((day, at) => ({ ...day, hours_lost: at === 13 ? last : 2 }))
    const figures = () => [...document.querySelectorAll('.days b')].map(figure => figure.textContent)
    sentence({ days: lost(1) })
    expect(figures()).toEqual(['2.0 h', '1.0 h'])
    sentence({ days: lost(3) })
    expect(figures()).toEqual(['3.0 h'])
  })
  test('has a bar by cause that is full, however little was lost', () => {
    const hours = [0.1, 0.02]
    const causes = hours.map((hours_lost, at) => ({ cause: null, cause_label: `cause ${at}`, hours_lost }))
    sentence({
      hours_lost: 0.12,
      by_cause: [{ ...causes[0], cause: 'no_workers' }, causes[1]] as Week['by_cause'],
    })
    const slices = [...document.querySelectorAll<HTMLElement>('.cause-bar > button')]
    const widths = slices.map(slice => Number(slice.style.flexGrow))
    expect(widths.reduce((sum, width) => sum + width, 0)).toBeCloseTo(100)
  })
  test('of runs on GPUs and others has one unit, and says what GPUs lost of it', () => {
    expect(sentence({ on_gpu: false, gpu_hours_lost: 400 })).toBe(
      'In seven days 412 of 2,290 hours, of them 400 GPU-hours, went to waiting for data and copies: 18%, down from 23%.',
    )
    expect(sentence({ on_gpu: false, gpu_hours_lost: 0 })).toContain('412 of 2,290 hours went')
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
    scopes_in_all: [],
    scopes_in: {},
    project: null,
    keep_deleted_us: 2_592_000_000_000,
  }
  test('the default address needs no setting', () => {
    service.value = { ...info, url: 'http://127.0.0.1:7077' }
    render(<Empty />)
    const commands = [...document.querySelectorAll('pre')].map(one => one.textContent)
    expect(commands).toEqual([
      'underfed run -- python train.py',
      'import underfed\nloader = underfed.watch(loader)',
      'underfed demo',
    ])
    expect(seen()).not.toContain('UNDERFED_URL')
  })
  test('where a token is asked for the snippet has one, and the project that the reader may see', () => {
    service.value = { ...info, url: 'http://127.0.0.1:7077', token_required: true, project: 'vision' }
    render(<Empty />)
    expect(screen.getByRole('heading').textContent).toBe('No runs of vision yet.')
    expect(seen()).toContain('UNDERFED_TOKEN=… UNDERFED_PROJECT=vision underfed run -- python train.py')
  })
  test('any other one is in the snippet', () => {
    service.value = { ...info, url: 'http://gpu-head:7077' }
    render(<Empty />)
    expect(seen()).toContain('UNDERFED_URL=http://gpu-head:7077')
  })
})
