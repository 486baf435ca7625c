// @vitest-environment node
import { beforeAll, describe, expect, test } from 'vitest'
import type { ComparedRun, Comparison } from '../../../src/api/schema'
import { drawnBy, epochAt, type Overlay, overlayOf } from '../../../src/charts/declared/compare'
import { readoutAt, valueAt } from '../../../src/charts/declared/declaration'
import { series, seriesPage, summary } from '../../made'
import { record, stubBrowser } from '../recording'

beforeAll(stubBrowser)

const WIDTH = 1_000

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
    hotspots_missing: null,
    ...changes,
  }
}

function comparison(...runs: ComparedRun[]): Comparison {
  return {
    sentence: '',
    basis: 'steps',
    per: 'steps',
    runs,
    cautions: [],
    settings: [],
    hotspots: [],
    ledger: [],
  }
}

const A = seriesPage(series('step_us', [100_000, 110_000, 120_000]))
const B = seriesPage(series('step_us', [50_000, 60_000]))
const PAGES = new Map([
  ['a', A],
  ['b', B],
])

function draw({ charts: [chart] }: Overlay, width = WIDTH) {
  if (!chart?.drawn) throw new Error('nothing is drawn')
  return { recording: record(chart.drawn, width), scale: chart.drawn.scale(width) }
}

describe('the chart over all runs', () => {
  const BOTH = overlayOf(comparison(compared('a'), compared('b')), PAGES, 'step_us', 'step')

  test('has a line a run, each with positions of its own, distinguished by colour, dashes and name', () => {
    expect(BOTH.left).toEqual([])
    const { recording, scale } = draw(BOTH)
    const [[a], [b]] = [recording.strokes('ink'), recording.strokes('run-1')]
    const stepped = (...values: number[]) =>
      values.flatMap((value, step) => [
        [scale.x(10 * step), scale.y(value)],
        [scale.x(10 * (step + 1)), scale.y(value)],
      ])
    expect(a?.points).toEqual(stepped(100_000, 110_000, 120_000))
    expect(b?.points).toEqual(stepped(50_000, 60_000))
    expect([a?.dash, b?.dash]).toEqual([[], [7, 3]])
    expect([a?.width, b?.width]).toEqual([1.8, 1.6])
    expect(scale.y(120_000)).toBeGreaterThan(scale.top)
    expect(scale.right).toBe(scale.x(30))
    expect(recording.textNamed('a').colour).toBe('ink')
    expect(recording.textNamed('b').colour).toBe('run-1')
    expect(recording.texts()).toContain('step 0')
  })

  test('breaks at pauses over time, and along steps, which these take none of, does not', () => {
    const pauses = [
      { kind: 'validation', label: 'validation', start_us: 1_200_000, end_us: 1_900_000 } as const,
    ]
    const paused = new Map([...PAGES, ['a', { ...A, pauses: [...pauses], end_us: 3_000_000 }]])
    const both = comparison(compared('a'), compared('b'))
    const over = (along: 'time' | 'step') => draw(overlayOf(both, paused, 'step_us', along)).recording
    expect(over('time').strokes('ink')).toHaveLength(2)
    expect(over('step').strokes('ink')).toHaveLength(1)
  })

  test('has the baseline over all others', () => {
    const colours = draw(BOTH)
      .recording.of('stroke')
      .map(({ colour }) => colour)
    expect(colours.indexOf('ink')).toBeGreaterThan(colours.indexOf('run-1'))
  })

  test('breaks where a run was not measured', () => {
    const page = seriesPage(series('step_us', [1, 2, null, 4, 5]))
    const chart = overlayOf(comparison(compared('a')), new Map([['a', page]]), 'step_us', 'step')
    expect(draw(chart).recording.strokes('ink')).toHaveLength(2)
  })

  test('of runs without a measured step is axes only', () => {
    const page = seriesPage(series('step_us', [null, null]))
    const chart = overlayOf(comparison(compared('a')), new Map([['a', page]]), 'step_us', 'step')
    expect(draw(chart).recording.strokes('ink')).toEqual([])
  })

  test('lies along elapsed seconds or epochs as well', () => {
    const epochs = [
      { epoch_index: 0, first_step_index: 0 },
      { epoch_index: 1, first_step_index: 20 },
    ]
    const runs = comparison(compared('a', { epochs }), compared('b'))
    expect(overlayOf(runs, PAGES, 'step_us', 'time').quantities[0]?.at).toEqual([0, 1, 2])
    const along = overlayOf(runs, PAGES, 'step_us', 'epoch')
    expect(along.quantities.map(line => [line.label, line.at])).toEqual([['a', [0, 0.5, 1]]])
    expect(along.left).toEqual(['The epochs of b are not known.'])
  })

  test('lies along samples where batch sizes differ, unless asked otherwise', () => {
    const sizes = [compared('a', { batch_samples: 64 }), compared('b', { batch_samples: 32 }), compared('c')]
    const runs: Comparison = { ...comparison(...sizes), per: 'samples' }
    const pages = new Map([...PAGES, ['c', B]] as const)
    const chart = overlayOf(runs, pages, 'step_us', drawnBy(new URLSearchParams(), runs.per).along)
    expect(chart.quantities.map(line => line.at)).toEqual([
      [0, 640, 1_280],
      [0, 320],
    ])
    expect(chart.left).toEqual(['The batch size of c is not known.'])
    expect(readoutAt(chart, 700)).toBe('sample 700 · a 110 ms')
    expect(drawnBy(new URLSearchParams('by=step'), 'samples').along).toBe('step')
    expect(drawnBy(new URLSearchParams('by=sample'), 'steps').along).toBe('step')
  })

  test('says of a run why it is not drawn, and keeps the others in their colours', () => {
    const none = seriesPage(series('step_us', [], { missing: 'nothing was recorded here' }))
    const pages = new Map([...PAGES, ['a', none]] as const)
    const chart = overlayOf(comparison(compared('a'), compared('b')), pages, 'step_us', 'step')
    expect(chart.left).toEqual(['a: nothing was recorded here'])
    expect(chart.quantities.map(line => line.place)).toEqual([1])
    expect(draw(chart).recording.strokes('run-1')).toHaveLength(1)
    expect(overlayOf(comparison(compared('c')), PAGES, 'step_us', 'step').charts).toEqual([])
  })

  test('reads all runs at one position, and no run beyond its end', () => {
    expect(readoutAt(BOTH, 12)).toBe('step 12 · a 110 ms · b 60 ms')
    expect(readoutAt(BOTH, 25)).toBe('step 25 · a 120 ms')
    expect(valueAt({ at: [0, 10], values: [1, null] }, 10)).toBeNull()
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

test('the address says what is drawn and along what', () => {
  const query = new URLSearchParams('run_id=a&run_id=b&run_id=a&run_id=&by=epoch&metric=data_wait_us')
  expect(drawnBy(query, 'steps')).toEqual({ metric: 'data_wait_us', along: 'epoch' })
  expect(drawnBy(new URLSearchParams('by=x'), 'steps')).toEqual({ metric: 'step_us', along: 'step' })
})
