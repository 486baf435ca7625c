// @vitest-environment node
import { readFileSync } from 'node:fs'
import { beforeAll, describe, expect, test } from 'vitest'
import type { SeriesPage } from '../../src/api/schema'
import { runCharts } from '../../src/charts/declared/run'
import { marksOf } from '../../src/ui/run/marks'
import { run } from '../made'
import { type Mark, record, stubBrowser } from './recording'

beforeAll(stubBrowser)

const WIDTH = 1_440
const FOLDER = new URL('../../../tests/recorded_runs/', import.meta.url)
const read = (path: string) => JSON.parse(readFileSync(new URL(path, FOLDER), 'utf8'))

/** What the page draws of a recorded run, from what the service answers of it. */
function drawn(name: string) {
  const page: SeriesPage = read(`answers/${name}.json`)
  const shared = { run: run({ epochs: [], died_workers: [] }), page }
  const marks = marksOf({ ...shared.run, shared: [], trials: [] }, page)
  const set = runCharts({ ...shared, marks, isWhole: true, endsNow: false, hasOtherWaits: false }, null)
  if (!set) throw new Error('no step')
  const recordings = set.charts.flatMap(({ drawn }) =>
    drawn ? [{ recording: record(drawn, WIDTH), scale: drawn.scale(WIDTH) }] : [],
  )
  return { page, set, marks, recordings }
}

const xs = ({ points }: Mark) => points.map(([x]) => x)
const DATA = ['wait', 'wait-fill', 'compute', 'compute-fill', 'ink']
const NAMES = ['checkpoints', 'three_loaders', 'straggler', 'short_run']

describe.each(NAMES)('of %s', name => {
  test('no line and no area goes across a pause', () => {
    const { page, recordings } = drawn(name)
    for (const { recording, scale } of recordings) {
      const painted = DATA.flatMap(colour => [
        ...recording.strokes(colour),
        ...recording.of('fill', colour),
      ]).filter(mark => mark.points.length > 2)
      expect(painted.length).toBeGreaterThan(0)
      for (const { start_us, end_us } of page.pauses) {
        const middle = scale.x((start_us + end_us) / 2e6)
        for (const mark of painted) {
          expect(Math.min(...xs(mark)) > middle || Math.max(...xs(mark)) < middle).toBe(true)
        }
      }
    }
  })

  test('what is drawn of steps takes as long as they took', () => {
    const { page, recordings } = drawn(name)
    const [step, , pause] = page.series
    const spentS = (of: typeof step) =>
      (of?.mean ?? []).reduce<number>((sum, mean, index) => sum + (mean ?? 0) * (of?.count[index] ?? 0), 0) /
      1e6
    const [{ recording, scale }] = recordings as [(typeof recordings)[0]]
    const areas = recording.of('fill', 'compute-fill')
    const pixels = areas.reduce((sum, area) => sum + Math.max(...xs(area)) - Math.min(...xs(area)), 0)
    const drawnS = (scale.at(scale.left + pixels) ?? 0) - (scale.at(scale.left) ?? 0)
    expect(drawnS / (spentS(step) - spentS(pause))).toBeCloseTo(1, 1)
  })

  test('steps are steps: no edge is slanted', () => {
    for (const { recording } of drawn(name).recordings) {
      for (const stroke of DATA.flatMap(colour => recording.strokes(colour))) {
        stroke.points.slice(1).forEach(([x, y], index) => {
          const [before, above] = stroke.points[index] ?? [x, y]
          expect(Math.abs(x - before) < 1e-6 || Math.abs(y - above) < 1e-6).toBe(true)
        })
      }
    }
  })
})

test('each pause that the program made is named, with how long it lasted', () => {
  const { marks, recordings } = drawn('checkpoints')
  const [truth] = read('recordings/checkpoints.truth.json')
  const made = truth.pauses as { what: string; after_s: number; lasted_s: number }[]
  expect(marks.map(mark => mark.label)).toEqual(
    made.map(({ what }) => (what === 'program' ? 'pause of the program' : 'checkpoint')),
  )
  made.forEach(({ after_s: after, lasted_s: lasted }, index) => {
    expect(marks[index]?.at).toBeCloseTo(after, 1)
    expect((marks[index]?.until ?? 0) - (marks[index]?.at ?? 0)).toBeCloseTo(lasted, 1)
  })
  expect(recordings[0]?.recording.texts()).toContain('pause of the program')
})

test('a loop that keeps up is not drawn as one that waits through its checkpoints', () => {
  const { set } = drawn('checkpoints')
  const of = (name: string) => set.quantities.find(quantity => quantity.name === name)?.values ?? []
  const longest = (name: string) => Math.max(...of(name).map(value => value ?? 0))
  expect(longest('pause_us')).toBeGreaterThan(400_000)
  expect(longest('compute_us')).toBeLessThan(60_000)
})

test('a validation is named in the chart of the validation’s own passes by what is trained meanwhile', () => {
  const { page, marks } = drawn('three_loaders')
  expect(page.loader).toBe('held_out')
  const names = [...new Set(marks.map(mark => mark.label))].toSorted()
  expect(names).toEqual(['before the first batch', 'captions', 'pictures'])
})

test('the axis of a short run ends with its last step', () => {
  const { page, set } = drawn('short_run')
  expect(set.across.to).toBeCloseTo((page.end_us ?? 0) / 1e6, 3)
  const [truth] = read('recordings/short_run.truth.json')
  expect(set.across.to).toBeCloseTo(truth.wall_s, 0)
})

test('the charts of a straggler are its own', () => {
  const [truth] = read('recordings/straggler.truth.json')
  expect(drawn('straggler').page.rank).toBe(truth.slow_rank)
})
