import { describe, expect, test } from 'vitest'
import type { ComparedRun, Comparison } from '../../src/api/names'
import { chosenRuns, compareHref } from '../../src/store/compareHref'
import { drawnBy, epochAt, lineAt, overlayOf, overlayReadout } from '../../src/ui/compare/overlays'
import { series, seriesPage, summary } from '../made'

function compared(runId: string, changes: Partial<ComparedRun> = {}): ComparedRun {
  return {
    run: summary({ run_id: runId }),
    label: runId,
    verdict: 'It waits.',
    sentence: null,
    speed: null,
    why_not: null,
    anatomy: null,
    steps_per_s: null,
    samples_per_s: null,
    batch_samples: null,
    epochs: [],
    ...changes,
  }
}

function comparison(...runs: ComparedRun[]): Comparison {
  return { sentence: '', basis: 'steps', per: 'steps', runs, cautions: [], settings: [], ledger: [] }
}

const A = seriesPage(series('step_us', [100_000, 110_000, 120_000]))
const B = seriesPage(series('step_us', [50_000, 60_000]))
const PAGES = new Map([
  ['a', A],
  ['b', B],
])

describe('the chart over all runs', () => {
  test('has a line a run, each with positions of its own', () => {
    const { overlay, missing } = overlayOf(comparison(compared('a'), compared('b')), PAGES, 'step_us', 'step')
    expect(missing).toEqual([])
    expect(overlay?.lines.map(({ label, place, at }) => [label, place, at])).toEqual([
      ['a', 0, [0, 10, 20]],
      ['b', 1, [0, 10]],
    ])
    expect(overlay?.to).toBe(20)
    expect(overlay?.top).toBeGreaterThan(120_000)
  })

  test('lies along elapsed seconds or epochs as well', () => {
    const epochs = [
      { epoch_index: 0, first_step_index: 0 },
      { epoch_index: 1, first_step_index: 20 },
    ]
    const runs = comparison(compared('a', { epochs }), compared('b'))
    expect(overlayOf(runs, PAGES, 'step_us', 'time').overlay?.lines[0]?.at).toEqual([0, 1, 2])
    const along = overlayOf(runs, PAGES, 'step_us', 'epoch')
    expect(along.overlay?.lines.map(line => [line.label, line.at])).toEqual([['a', [0, 0.5, 1]]])
    expect(along.missing).toEqual(['The epochs of b are not known.'])
  })

  test('lies along samples where batch sizes differ, unless asked otherwise', () => {
    const sizes = [compared('a', { batch_samples: 64 }), compared('b', { batch_samples: 32 }), compared('c')]
    const runs: Comparison = { ...comparison(...sizes), per: 'samples' }
    const pages = new Map([...PAGES, ['c', B]] as const)
    const { axis } = drawnBy(new URLSearchParams(), runs.per)
    const { overlay, missing } = overlayOf(runs, pages, 'step_us', axis)
    expect(overlay?.lines.map(line => line.at)).toEqual([
      [0, 640, 1_280],
      [0, 320],
    ])
    expect(missing).toEqual(['The batch size of c is not known.'])
    expect(overlay && overlayReadout(overlay, 'step_us', axis, 700)).toBe('sample 700 · a 110 ms')
    expect(drawnBy(new URLSearchParams('by=step'), 'samples').axis).toBe('step')
    expect(drawnBy(new URLSearchParams('by=sample'), 'steps').axis).toBe('step')
  })

  test('says of a run why it is not drawn, and keeps the others in their colours', () => {
    const none = seriesPage(series('step_us', [], { missing: 'nothing was recorded here' }))
    const pages = new Map([...PAGES, ['a', none]] as const)
    const { overlay, missing } = overlayOf(comparison(compared('a'), compared('b')), pages, 'step_us', 'step')
    expect(missing).toEqual(['a: nothing was recorded here'])
    expect(overlay?.lines.map(line => line.place)).toEqual([1])
    expect(overlayOf(comparison(compared('c')), PAGES, 'step_us', 'step').overlay).toBeNull()
  })

  test('reads all runs at one position, and no run beyond its end', () => {
    const { overlay } = overlayOf(comparison(compared('a'), compared('b')), PAGES, 'step_us', 'step')
    if (!overlay) throw new Error('drawn')
    expect(overlayReadout(overlay, 'step_us', 'step', 12)).toBe('step 12 · a 110 ms · b 60 ms')
    expect(overlayReadout(overlay, 'step_us', 'step', 25)).toBe('step 25 · a 120 ms')
    expect(lineAt({ label: '', place: 0, at: [0, 10], values: [1, null] }, 10)).toBeNull()
  })
})

test('the last epoch is taken to be as long as the one before it', () => {
  const epochs = [
    { epoch_index: 3, first_step_index: 30 },
    { epoch_index: 4, first_step_index: 50 },
  ]
  expect([30, 40, 50, 60].map(step => epochAt(epochs, step))).toEqual([3, 3.5, 4, 4.5])
  expect(epochAt([], 5)).toBe(0)
})

test('the address says which runs, what is drawn and along what', () => {
  const query = new URLSearchParams('run_id=a&run_id=b&run_id=a&run_id=&by=epoch&metric=data_wait_us')
  expect(chosenRuns(query)).toEqual(['a', 'b'])
  expect(drawnBy(query, 'steps')).toEqual({ metric: 'data_wait_us', axis: 'epoch' })
  expect(drawnBy(new URLSearchParams('by=x'), 'steps')).toEqual({ metric: 'step_us', axis: 'step' })
  expect(compareHref(['b', 'c'], query)).toBe('/compare?by=epoch&metric=data_wait_us&run_id=b&run_id=c')
  expect(compareHref([])).toBe('/compare')
})

test('no more runs are compared than can be told apart', () => {
  const query = new URLSearchParams(Array.from({ length: 12 }, (_, n) => ['run_id', String(n)]))
  expect(chosenRuns(query)).toHaveLength(8)
})
