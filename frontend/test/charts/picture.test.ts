// @vitest-environment node
import { beforeAll, expect, test } from 'vitest'
import { type Block, chart, compose, heading, legend, paragraph, table } from '../../src/charts/picture'
import { strips } from '../../src/charts/strips'
import { Recording, stubBrowser } from './recording'

beforeAll(stubBrowser)

/** The edge around all of it. */
const PAD = 24

function picture(...blocks: Block[]): Recording {
  const recording = new Recording()
  compose(recording.context, blocks, 500)
  return recording
}
const heightOf = (block: Block) => block.height(new Recording().context, 960)

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
  expect(drawn.textNamed('No worker lies above it.').points[0]).toEqual([PAD, PAD + heightOf(title) + 14])
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

test('long text is broken where the width ends, and takes its lines', () => {
  const words = paragraph(Array(100).fill('word').join(' '))
  expect(heightOf(words)).toBe(4 * 20)
  const drawn = picture(words)
  expect(drawn.texts()).toHaveLength(4)
  expect(drawn.texts().join(' ').split(' ')).toHaveLength(100)
})

test('a table has its head and every cell, broken inside its column', () => {
  const long = Array(60).fill('word').join(' ')
  const block = table([
    ['Signal', 'Says'],
    ['a', long],
    ['b', 'short'],
  ])
  const drawn = picture(block)
  expect(drawn.textNamed('Signal').colour).toBe('ink-3')
  expect(drawn.textNamed('short').points[0]?.[0]).toBe(drawn.textNamed('Says').points[0]?.[0])
  expect(drawn.texts().join(' ')).toContain(long)
  expect(heightOf(block)).toBe(20 * 5)
})

test('an empty table is no fault', () => {
  expect(heightOf(table([['Rank', 'Wait']]))).toBe(20)
  expect(heightOf(table([]))).toBe(0)
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
