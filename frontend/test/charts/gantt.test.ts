// @vitest-environment node
import { beforeAll, describe, expect, test } from 'vitest'
import type { Timeline, TimelineBatch, TimelineStep } from '../../src/api/schema'
import { type Attention, type Gantt, gantt, newestOf, targetAt, wholeOf } from '../../src/charts/gantt'
import { record, segments, stubBrowser } from './recording'

beforeAll(stubBrowser)

/** One pixel a millisecond for a second, from 92 to 1,092; lanes at 0 and 26, the training loop at 62. */
const WIDTH = 1_000 + 92 + 2
const [LANE_BAR, LOOP] = [4.5, 62]

function batch(changes: Partial<TimelineBatch> = {}): TimelineBatch {
  return {
    epoch_index: 0,
    batch_index: 7,
    worker: 0,
    start_us: 100_000,
    load_us: 400_000,
    cpu_us: 200_000,
    runqueue_us: 100_000,
    blocked_us: 100_000,
    collate_us: null,
    pin_us: null,
    received_us: null,
    ...changes,
  }
}

function step(changes: Partial<TimelineStep> = {}): TimelineStep {
  return {
    step_index: 3,
    epoch_index: 0,
    batch_index: 7,
    start_us: 300_000,
    data_wait_us: 300_000,
    step_us: 500_000,
    gpu_idle_us: null,
    queue_depth: null,
    sampler_us: null,
    ...changes,
  }
}

function data(batches: readonly TimelineBatch[], steps: readonly TimelineStep[]): Gantt {
  const timeline = { from_us: 0, to_us: 1_000_000, batches, steps, missing: null } as unknown as Timeline
  return {
    timeline,
    lanes: [0, 1],
    laneLabel: worker => `worker ${worker}`,
    loopLabel: 'training loop',
    timeLabel: beforeS => `-${beforeS}`,
  }
}

const drawn = (shown: Gantt, attention: Partial<Attention> = {}) =>
  record(gantt(shown, { view: wholeOf(shown), selected: null, pointed: null, ...attention }), WIDTH)

describe('the timeline', () => {
  test('names a pause over the rest of its step, where there is room', () => {
    const pauses = [
      { start_us: 600_000, end_us: 800_000, label: 'checkpoint' },
      { start_us: 900_000, end_us: 910_000, label: 'validation' },
    ]
    const shown = drawn({ ...data([], [step()]), pauses })
    expect(shown.of('rect', 'sunk').map(({ points }) => points.map(([x]) => x))).toEqual([
      [692, 892],
      [992, 1_002],
    ])
    expect(shown.textNamed('checkpoint').points).toEqual([[792 - 5 * 6, LOOP + 15]])
    expect(shown.texts()).not.toContain('validation')
  })

  test('has a bar a batch from its start to its end, split by shares of its time', () => {
    const [cpu, runqueue, blocked, ...others] = drawn(data([batch()], [])).of('rect')
    expect(others).toEqual([])
    expect(cpu).toMatchObject({
      colour: 'load-cpu',
      points: [
        [192, LANE_BAR],
        [391.5, 21.5],
      ],
    })
    expect(runqueue).toMatchObject({
      colour: 'load-runqueue',
      points: [
        [391.5, LANE_BAR],
        [491.25, 21.5],
      ],
    })
    expect(blocked).toMatchObject({
      colour: 'load-blocked',
      points: [
        [491.25, LANE_BAR],
        [591, 21.5],
      ],
    })
  })

  test.each([
    ['all', null, ['load']],
    ['its waits', 10, ['load-cpu', 'load']],
  ])('draws what is unknown of a batch in a colour of its own: %s', (_, cpuUs, colours) => {
    const unknown = batch({ cpu_us: cpuUs, runqueue_us: null, blocked_us: null })
    const wide = drawn(data([unknown], []))
      .of('rect')
      .filter(({ points: [from, to] }) => (to?.[0] ?? 0) > (from?.[0] ?? 0))
    expect(wide.map(({ colour }) => colour)).toEqual(colours)
  })

  test('shows how the loop waits, then works', () => {
    const [wait, work] = drawn(data([], [step()])).of('rect')
    expect(wait).toMatchObject({
      colour: 'wait-fill',
      points: [
        [392, LOOP],
        [691.4, 84],
      ],
    })
    expect(work).toMatchObject({
      colour: 'compute-fill',
      points: [
        [692, LOOP],
        [891.4, 84],
      ],
    })
  })

  test('a step that is not over lasts until the end', () => {
    const [, work] = drawn(data([], [step({ step_us: null })])).of('rect')
    expect(work?.points[1]?.[0]).toBeCloseTo(1_091.4)
  })

  test('a finished batch leads to the step that got it', () => {
    const [hand, ...others] = drawn(data([batch()], [step()])).strokes('ink-3')
    expect(others).toEqual([])
    expect(hand?.points).toEqual([
      [592, LANE_BAR + 17],
      [692, LOOP],
    ])
    expect(drawn(data([batch({ epoch_index: 1 })], [step()])).strokes('ink-3')).toEqual([])
  })

  test('names lanes, the loop, batches that have room, and the time before its end', () => {
    const texts = drawn(data([batch(), batch({ batch_index: 8, load_us: 20_000, worker: 1 })], [])).texts()
    expect(texts).toEqual(expect.arrayContaining(['worker 0', 'worker 1', 'training loop', '7', '-0']))
    expect(texts).not.toContain('8')
  })

  test('a batch of a worker that has no lane here is not drawn', () => {
    expect(drawn(data([batch({ worker: 5 })], [])).of('rect')).toEqual([])
  })

  test('nothing recorded is lanes and an axis', () => {
    const nothing = drawn(data([], []))
    expect([nothing.of('rect'), nothing.strokes('ink-3')]).toEqual([[], []])
    expect(nothing.texts()).toContain('training loop')
  })

  test('a view cuts what reaches beyond it, and leaves out what is not in it', () => {
    const view = { fromUs: 300_000, toUs: 400_000 }
    const rects = drawn(data([batch(), batch({ start_us: 600_000 })], []), { view }).of('rect')
    expect(rects).toHaveLength(3)
    expect(rects[0]?.points[0]?.[0]).toBe(92)
    expect(rects[2]?.points[1]?.[0]).toBe(1_091)
  })

  test('a hand-over of which an end is not in view is left out', () => {
    const handed = data([batch()], [step()])
    for (const view of [
      { fromUs: 0, toUs: 550_000 },
      { fromUs: 550_000, toUs: 1_000_000 },
    ])
      expect(drawn(handed, { view }).strokes('ink-3')).toEqual([])
  })

  test('a chosen stretch lies over all lanes, and what is pointed at has an outline', () => {
    const pointed = batch()
    const shown = drawn(data([pointed], []), { pointed, selected: { fromUs: 500_000, toUs: 600_000 } })
    const stretch = shown.of('rect', 'ink')[0]
    expect(stretch).toMatchObject({
      alpha: 0.12,
      points: [
        [592, 0],
        [692, 84],
      ],
    })
    expect(shown.of('outline', 'ink')[0]?.points).toEqual([
      [192, LANE_BAR],
      [591, 21.5],
    ])
  })

  test('the most that the service sends is drawn with a bounded number of marks', () => {
    const batches = Array.from({ length: 2_000 }, (_, index) =>
      batch({ batch_index: index, worker: index % 2, start_us: index * 500, load_us: 900 }),
    )
    const steps = Array.from({ length: 240 }, (_, index) =>
      step({ batch_index: index, start_us: index * 4_000, data_wait_us: 1_000, step_us: 4_000 }),
    )
    const shown = drawn(data(batches, steps))
    expect(shown.of('rect').length).toBeLessThanOrEqual(3 * 2_000 + 2 * 240)
    expect(segments(shown.strokes('ink-3'))).toBeLessThanOrEqual(240)
  })

  test('a million batches, far more than it sends, narrower than can be seen, are left out', () => {
    const batches = Array.from({ length: 1_000_000 }, (_, index) =>
      batch({ batch_index: index, start_us: index, load_us: 1 }),
    )
    expect(drawn(data(batches, [])).of('rect')).toEqual([])
  })
})

test('what lies under the pointer is a batch, a step, or nothing', () => {
  const shown = data([batch(), batch({ worker: 1, batch_index: 9 })], [step()])
  const scale = gantt(shown, { view: wholeOf(shown), selected: null, pointed: null }).scale(WIDTH)
  expect(targetAt(shown, scale, 300, 40)).toMatchObject({ batch_index: 9 })
  expect(targetAt(shown, scale, 500, LOOP + 5)).toMatchObject({ step_index: 3 })
  expect(targetAt(shown, scale, 900, 5)).toBeNull()
  expect(targetAt(shown, scale, 50, 5)).toBeNull()
})

test('at first the newest twenty steps are seen, or all where what was loaded for them lies before', () => {
  const steps = Array.from({ length: 50 }, (_, at) => step({ step_index: at, start_us: 20_000 * at }))
  const loaded = (fromUs: number) =>
    Array.from({ length: 12 }, (_, at) => batch({ start_us: fromUs + 20_000 * at, load_us: 10_000 }))
  expect(newestOf(data(loaded(700_000), steps))).toEqual({ fromUs: 600_000, toUs: 1_000_000 })
  expect(newestOf(data(loaded(700_000), steps.slice(0, 3)))).toEqual({ fromUs: 0, toUs: 1_000_000 })
  expect(newestOf(data(loaded(100_000), steps))).toEqual({ fromUs: 0, toUs: 1_000_000 })
})
