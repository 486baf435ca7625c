// @vitest-environment node
import { beforeAll, expect, test } from 'vitest'
import { type Strips, strips } from '../../src/charts/strips'
import { record, stubBrowser } from './recording'

beforeAll(stubBrowser)

/** One pixel a millisecond for 800 ms, from 74 to 874. */
const WIDTH = 800 + 74 + 64
const LOAD = { p5: 100_000, p50: 300_000, p95: 700_000 }
const draw = (changes: Partial<Strips> = {}, width = WIDTH) =>
  record(
    strips({ lanes: [{ name: 'worker 0', load: LOAD }], missing: 'no batch', limitUs: 500_000, ...changes }),
    width,
  )

test('a worker has a bar from p5 to p95, a dot at its median, and the median in words', () => {
  const drawn = draw()
  const [bar, dot] = [drawn.of('rect', 'heat')[0], drawn.of('fill', 'heat')[0]]
  expect(bar?.points).toEqual([
    [174, 16],
    [774, 22],
  ])
  expect(dot?.points).toEqual([[374, 19]])
  expect(drawn.textNamed('worker 0').points[0]).toEqual([0, 23])
  expect(drawn.textNamed('300 ms')).toMatchObject({ align: 'right', points: [[WIDTH, 23]] })
})

test('the limit is a dashed line through all lanes; without one there is none', () => {
  const [limit] = draw().strokes('wait')
  expect(limit).toMatchObject({
    dash: [5, 3],
    points: [
      [574, 4],
      [574, 34],
    ],
  })
  expect(draw({ limitUs: null }).strokes('wait')).toEqual([])
})

test('a worker without a batch has a name and words, and nothing at 0', () => {
  const drawn = draw({
    lanes: [
      { name: 'worker 0', load: LOAD },
      { name: 'worker 1', load: null },
    ],
  })
  expect([drawn.of('rect').length, drawn.of('fill').length]).toEqual([1, 1])
  expect(drawn.textNamed('no batch').points[0]?.[1]).toBe(53)
})

test('the axis ends at a round figure above all, and leaves out labels where there is no room', () => {
  const ticks = (width: number) =>
    draw({}, width)
      .of('text', 'ink-3')
      .map(({ text }) => text)
  expect(ticks(WIDTH)).toEqual(['0', '200 ms', '400 ms', '600 ms', '800 ms'])
  expect(ticks(300)).toEqual(['0', '400 ms', '800 ms'])
})

test('no workers, or none that loaded, are an axis', () => {
  for (const lanes of [[], [{ name: 'worker 0', load: null }]]) {
    const drawn = draw({ lanes })
    expect([drawn.of('rect'), drawn.of('fill')]).toEqual([[], []])
  }
})
