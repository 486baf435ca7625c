// @vitest-environment node
import { beforeAll, describe, expect, test } from 'vitest'
import { timeAxis, type ValueAxis } from '../../src/charts/axes'
import type { Column } from '../../src/charts/columns'
import { type Layer, type LineChart, lines } from '../../src/charts/lines'
import { record, segments, stubBrowser } from './recording'

beforeAll(stubBrowser)

/** 1,000 pixels for the drawing, from 54 to 1,054; values from 0 at 108 to 10 at 8. */
const WIDTH = 1_000 + 54 + 100
const [LEFT, RIGHT, TOP, BOTTOM] = [54, 1_054, 8, 108]
const UP: ValueAxis = { top: 10, topLabel: null, ticks: [0, 5, 10], tick: value => `${value} ms` }

function layer(values: Column, changes: Partial<Layer> = {}): Layer {
  return { at: values.map((_, index) => index), values, stroke: 'compute', ...changes }
}

function chart(layers: readonly Layer[], changes: Partial<LineChart> = {}): LineChart {
  const most = Math.max(1, ...layers.map(({ at }) => at.length - 1))
  return { height: 114, across: timeAxis(0, most, 'start'), up: UP, layers, ...changes }
}

const draw = (layers: readonly Layer[], changes: Partial<LineChart> = {}, width = WIDTH) =>
  record(lines(chart(layers, changes)), width)

describe('a line', () => {
  test('goes through its values, each at its own place', () => {
    const [stroke, ...others] = draw([layer([0, 10, 5])]).strokes('compute')
    expect(others).toEqual([])
    expect(stroke?.points).toEqual([
      [LEFT, BOTTOM],
      [554, TOP],
      [RIGHT, 58],
    ])
  })

  test('is cut off at the edges of the drawing, where values lie beyond them', () => {
    const [stroke] = draw([layer([0, 1_000])]).strokes('compute')
    expect(stroke?.clip).toEqual([
      [LEFT, TOP - 1],
      [RIGHT, BOTTOM + 1],
    ])
  })

  test('breaks where nothing was measured, and is never drawn at 0 there', () => {
    const strokes = draw([layer([5, 5, null, 5, 5])]).strokes('compute')
    expect(strokes.map(({ points }) => points.map(([x]) => x))).toEqual([
      [54, 304],
      [804, 1_054],
    ])
    expect(strokes.flatMap(({ points }) => points.map(([, y]) => y))).toEqual([58, 58, 58, 58])
  })

  test('of one value between gaps is a dot at its place', () => {
    const [stroke] = draw([layer([null, 5, null])]).strokes('compute')
    expect(stroke?.points).toEqual([
      [553, 58],
      [555, 58],
    ])
  })

  test('of a single value, or of none that was measured, or of none at all is no fault', () => {
    expect(segments(draw([layer([5])]).strokes('compute'))).toBe(1)
    for (const values of [[], [null], [null, null, null]]) {
      const drawn = draw([layer(values, { fill: 'sunk', label: 'depth' })])
      expect(drawn.strokes('compute')).toEqual([])
      expect(drawn.of('fill')).toEqual([])
      expect(drawn.texts()).not.toContain('depth')
    }
  })

  test('of a million values is drawn with a few for each pixel, and keeps each highest and lowest one', () => {
    const values: (number | null)[] = Array.from({ length: 1_000_000 }, (_, index) => 4 + (index % 3))
    values[654_321] = 10
    values[123_456] = 0
    const strokes = draw([layer(values)]).strokes('compute')
    expect(segments(strokes)).toBeLessThanOrEqual(4 * 1_002)
    const ys = strokes.flatMap(({ points }) => points.map(([, y]) => y))
    expect([Math.min(...ys), Math.max(...ys)]).toEqual([TOP, BOTTOM])
    const highest = strokes.flatMap(({ points }) => points).find(([, y]) => y === TOP)
    expect(highest?.[0]).toBeCloseTo(LEFT + 654.321, 1)
  })

  test('of a million values still breaks at a gap', () => {
    const values = Array.from({ length: 1_000_000 }, (_, index) => (index === 500_000 ? null : 5))
    expect(draw([layer(values)]).strokes('compute')).toHaveLength(2)
  })

  test('is dashed and as wide as it says', () => {
    const drawn = draw([layer([1, 2], { dash: [5, 3], width: 1.8 }), layer([3, 4], { stroke: 'ink' })])
    expect(drawn.strokes('compute')[0]).toMatchObject({ dash: [5, 3], width: 1.8 })
    expect(drawn.strokes('ink')[0]).toMatchObject({ dash: [], width: 1.3 })
  })

  test('that comes first lies over the others', () => {
    const drawn = draw([layer([1, 2], { stroke: 'ink' }), layer([3, 4], { stroke: 'run-1' })])
    const colours = drawn.of('stroke').map(({ colour }) => colour)
    expect(colours.indexOf('ink')).toBeGreaterThan(colours.indexOf('run-1'))
  })

  test('has its area down to 0', () => {
    const [area] = draw([layer([5, 10], { fill: 'sunk' })]).of('fill', 'sunk')
    expect(area?.points).toEqual([
      [LEFT, 58],
      [RIGHT, TOP],
      [RIGHT, BOTTOM],
      [LEFT, BOTTOM],
    ])
  })
})

describe('values that hold for a time', () => {
  test('are drawn as steps, each from its beginning to its end', () => {
    const [stroke, ...others] = draw([layer([0, 10], { until: [1, 2] })], {
      across: timeAxis(0, 2, 'start'),
    }).strokes('compute')
    expect(others).toEqual([])
    expect(stroke?.points).toEqual([
      [LEFT, BOTTOM],
      [554, BOTTOM],
      [554, TOP],
      [RIGHT, TOP],
    ])
  })

  test('break where the next begins later, in lines and areas', () => {
    const drawn = draw([layer([5, 5, 5], { until: [1, 1.2, 3], fill: 'sunk' })], {
      across: timeAxis(0, 3, 'start'),
    })
    const xs = (marks: readonly { points: readonly (readonly [number, number])[] }[]) =>
      marks.map(({ points }) => [Math.min(...points.map(([x]) => x)), Math.max(...points.map(([x]) => x))])
    expect(xs(drawn.strokes('compute'))).toEqual([
      [LEFT, 454],
      [expect.closeTo(720.67, 1), RIGHT],
    ])
    expect(xs(drawn.of('fill', 'sunk'))).toEqual(xs(drawn.strokes('compute')))
  })

  test('of a short run are no triangle: a single step has a width and a height', () => {
    const [area] = draw([layer([10], { until: [1], fill: 'sunk' })], {
      across: timeAxis(0, 1, 'start'),
    }).of('fill', 'sunk')
    expect(area?.points).toEqual([
      [LEFT, TOP],
      [RIGHT, TOP],
      [RIGHT, BOTTOM],
      [LEFT, BOTTOM],
    ])
  })

  test('of which a million lie in a pixel are drawn with a few for each', () => {
    const values = Array.from({ length: 100_000 }, (_, index) => 4 + (index % 3))
    const until = values.map((_, index) => index + 1)
    expect(segments(draw([layer(values, { until })]).strokes('compute'))).toBeLessThanOrEqual(8 * 1_002)
  })
})

describe('a stack', () => {
  const [above, middle, below] = [
    (values: Column) => layer(values, { stroke: 'wait', fill: 'hatch', label: 'wait' }),
    (values: Column) => layer(values, { stroke: 'copy', fill: 'copy-fill', isOptional: true }),
    (values: Column) => layer(values, { fill: 'compute-fill', label: 'compute' }),
  ]
  const stack = (...layers: Layer[]) => draw(layers, { isStacked: true })
  const edges = (points: readonly (readonly [number, number])[] | undefined) => points?.map(([, y]) => y)

  test('has each part on those below it', () => {
    const drawn = stack(above([2, 2]), middle([1, 1]), below([4, 6]))
    expect(edges(drawn.of('fill', 'compute-fill')[0]?.points)).toEqual([68, 48, BOTTOM, BOTTOM])
    expect(edges(drawn.of('fill', 'copy-fill')[0]?.points)).toEqual([58, 38, 48, 68])
    expect(edges(drawn.of('fill', 'wait-fill')[0]?.points)).toEqual([38, 18, 38, 58])
  })

  test('has nothing over a part that was not measured: what lies on it would stand on 0', () => {
    const drawn = stack(above([2, 2, 2]), below([4, null, 4]))
    for (const colour of ['wait-fill', 'compute-fill']) {
      const xs = drawn.of('fill', colour).flatMap(({ points }) => points.map(([x]) => x))
      expect(xs.length).toBeGreaterThan(0)
      expect(xs.filter(x => x > 56 && x < 1_052)).toEqual([])
    }
  })

  test('has an optional part that was not measured inside the one below', () => {
    const drawn = stack(above([2, 2]), middle([null, null]), below([4, 4]))
    expect(drawn.of('fill', 'copy-fill')).toEqual([])
    expect(edges(drawn.of('fill', 'wait-fill')[0]?.points)).toEqual([48, 48, 68, 68])
  })

  test('names each part in its middle', () => {
    const drawn = stack(above([4, 4]), below([4, 4]))
    expect(drawn.textNamed('wait').points[0]).toEqual([RIGHT + 8, 48 + 4])
    expect(drawn.textNamed('compute').points[0]).toEqual([RIGHT + 8, 88 + 4])
  })
})

describe('names beside the ends', () => {
  test('stand at the last measured value, in the colour of the line', () => {
    const drawn = draw([layer([1, 5, null], { label: '5 now' })])
    expect(drawn.textNamed('5 now')).toMatchObject({ colour: 'compute', points: [[RIGHT + 8, 58 + 4]] })
  })

  test('are moved apart where they would touch, and cut where they are too long', () => {
    const drawn = draw([layer([5], { label: 'a' }), layer([5], { label: 'x'.repeat(40), stroke: 'ink' })], {
      hasNames: true,
    })
    const [a, long] = [drawn.textNamed('a'), drawn.of('text', 'ink')[0]]
    expect(Math.abs((a.points[0]?.[1] ?? 0) - (long?.points[0]?.[1] ?? 0))).toBeGreaterThanOrEqual(15)
    expect(long?.text).toBe(`${'x'.repeat(19)}…`)
  })

  test('are left out on a phone where they are names of runs', () => {
    const named = [layer([5], { label: 'a' })]
    expect(draw(named, { hasNames: true }, 390).texts()).toEqual(['0 ms', '5 ms', '10 ms'])
    expect(draw(named, {}, 390).texts()).toContain('a')
  })
})

describe('what stands around it', () => {
  test('value ticks have a line and a label, time ticks a label only below the last chart', () => {
    const drawn = draw([layer([5, 5])])
    expect(drawn.texts()).toEqual(['0 ms', '5 ms', '10 ms'])
    expect(drawn.textNamed('5 ms')).toMatchObject({ align: 'right', points: [[LEFT - 8, 58 + 4]] })
    const labelled = draw([layer(Array(61).fill(5))], { isLabelled: true })
    expect(labelled.texts()).toContain('start')
    expect(labelled.texts()).toContain('60 s')
  })

  test('epochs are dashed lines with names above, events solid ones; a name that would run into another is left out', () => {
    const marks = [
      { at: 0, label: 'epoch 0' },
      { at: 0.01, label: 'epoch 1' },
      { at: 0.5, label: 'worker 2 died', isEvent: true },
    ]
    const drawn = draw([layer([5, 5])], { marks, isLabelled: true })
    const [first, , event] = drawn.strokes('ink-2')
    expect(first).toMatchObject({ dash: [2, 2], alpha: 0.7 })
    expect(event).toMatchObject({ dash: [] })
    expect(event?.points.map(([x]) => x)).toEqual([554, 554])
    expect(drawn.texts()).toContain('epoch 0')
    expect(drawn.texts()).not.toContain('epoch 1')
    expect(drawn.texts()).toContain('worker 2 died')
  })

  test('a pause is a band behind the drawing, named in its middle, and no line', () => {
    const marks = [{ at: 0.4, until: 0.6, label: 'validation' }]
    const drawn = draw([layer([5, 5])], { marks, isLabelled: true })
    const [band] = drawn.of('rect', 'sunk')
    expect(band?.points.map(([x]) => Math.round(x))).toEqual([454, 654])
    expect(drawn.strokes('ink-2')).toEqual([])
    expect(drawn.textNamed('validation').points[0]?.[0]).toBeCloseTo(554 - 5 * 6, 0)
  })

  test('what happened at the right edge is named inside it', () => {
    const marks = [{ at: 1, label: 'worker 2 died', isEvent: true }]
    const { points } = draw([layer([5, 5])], { marks, isLabelled: true }).textNamed('worker 2 died')
    expect(points[0]?.[0]).toBe(RIGHT - 13 * 6)
  })

  test('many epochs step back, and none beyond the edges is drawn', () => {
    const marks = Array.from({ length: 40 }, (_, index) => ({ at: index / 30, label: '' }))
    const drawn = draw([layer([5, 5])], { marks }).strokes('ink-2')
    expect(drawn).toHaveLength(31)
    expect(drawn[0]?.alpha).toBe(0.3)
  })

  test('the highest value is written where it is cut off', () => {
    const up = { ...UP, topLabel: 'highest 5 s' }
    const { points } = draw([layer([5, 5])], { up, isLabelled: true }).textNamed('highest 5 s')
    expect(points[0]?.[0]).toBe(RIGHT - 11 * 6)
  })
})
