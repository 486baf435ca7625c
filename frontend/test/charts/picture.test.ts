// @vitest-environment node
import { beforeAll, expect, test } from 'vitest'
import { type Block, chart, compose, heading, legend, paragraph, table } from '../../src/charts/picture'
import { strips } from '../../src/charts/strips'
import { CHARACTER, Recording, stubBrowser } from './recording'

beforeAll(stubBrowser)

/** The edge around all of it. */
const PAD = 24

function picture(...blocks: Block[]): Recording {
  const recording = new Recording()
  compose(recording.context, blocks, 500)
  return recording
}

test('its blocks stand below one another on paper', () => {
  const title = heading('Worker by worker', 'p5, median, p95', true)
  const drawn = picture(title, paragraph('No worker lies above it.'))
  expect(drawn.marks[0]).toMatchObject({
    kind: 'rect',
    colour: 'paper',
    points: [
      [0, 0],
      [1_008, 500],
    ],
  })
  expect(drawn.textNamed('Worker by worker').points[0]).toEqual([PAD, PAD + 14])
  expect(drawn.textNamed('No worker lies above it.').points[0]).toEqual([PAD, PAD + title.height + 14])
})

test('a chart is drawn anew, as wide as the picture', () => {
  const load = { p5: 0, p50: 1, p95: 2 }
  const lanes = [
    { name: 'a', load },
    { name: 'b', load: null },
  ]
  const drawn = picture(chart(strips({ lanes, missing: 'no batch', limitUs: null })))
  expect(drawn.of('fill', 'heat')).toHaveLength(1)
  expect(drawn.textNamed('no batch').points[0]?.[0]).toBe(PAD + 960)
})

test('text that is too long is cut where the width ends', () => {
  const [words] = picture(paragraph('word '.repeat(100))).texts()
  expect(words?.length).toBeLessThanOrEqual(960 / CHARACTER)
  expect(words?.endsWith('…')).toBe(true)
})

test('a table has its head and every cell; what is too long is cut, and the others have their room', () => {
  const block = table([
    ['Signal', 'Says'],
    ['a', 'word '.repeat(100)],
    ['b', 'short'],
  ])
  const drawn = picture(block)
  expect(drawn.textNamed('Signal').colour).toBe('ink-3')
  const [[left, top] = [0, 0]] = drawn.textNamed('short').points
  expect([left, top]).toEqual([drawn.textNamed('Says').points[0]?.[0], PAD + 54])
  const long = drawn.of('text', 'ink')[1]?.text ?? ''
  expect(long.endsWith('…')).toBe(true)
  expect(left + long.length * CHARACTER).toBeLessThanOrEqual(PAD + 960)
  expect(block.height).toBe(60)
})

test('a table with room to spare cuts nothing', () => {
  const rows = [
    ['Signal', 'Measured'],
    ['Longest wait of a rank beyond the median', '0.4% of step time'],
  ]
  expect(picture(table(rows)).texts()).toEqual(rows.flat())
})

test('an empty table is no fault', () => {
  expect(table([['Rank', 'Wait']]).height).toBe(20)
  expect(picture(table([])).texts()).toEqual([])
})

test('a legend has a square of each colour beside its name', () => {
  const drawn = picture(
    legend([
      ['load-cpu', 'on a CPU'],
      ['hatch', 'GPU waits'],
    ]),
  )
  expect(drawn.of('rect').map(({ colour }) => colour)).toEqual(['paper', 'load-cpu', 'wait-fill'])
  expect(drawn.texts()).toEqual(['on a CPU', 'GPU waits'])
})

test('a block that moves or cuts what it draws does so for itself only', () => {
  const moving: Block = {
    height: 10,
    draw(context) {
      context.translate(100, 100)
      context.rect(0, 0, 1, 1)
      context.clip()
    },
  }
  expect(picture(moving, paragraph('after')).textNamed('after')).toMatchObject({
    points: [[PAD, PAD + 24]],
    clip: null,
  })
})
