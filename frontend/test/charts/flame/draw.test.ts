// @vitest-environment node
import { beforeAll, describe, expect, test } from 'vitest'
import { barAt, type Flame, flame, ROW } from '../../../src/charts/flame/draw'
import { barsOf } from '../../../src/charts/flame/layout'
import { flameTree, matching } from '../../../src/charts/flame/tree'
import { CHARACTER, record, stubBrowser } from '../recording'
import { randomStacks, stacksOf } from './stacks'

beforeAll(stubBrowser)

const WIDTH = 1_000
const root = flameTree(
  stacksOf(
    ['getitem', 'get resize', 500],
    ['getitem', 'get open', 200],
    ['getitem', 'get', 50],
    ['collate', 'stack', 250],
  ),
)

function shown(changes: Partial<Flame> = {}): Flame {
  const nameOf: Flame['nameOf'] = ({ node, rest }) =>
    rest.length > 0 ? `${rest.length} more` : (node.stage ?? 'all')
  return { bars: barsOf(root), root, matches: null, current: null, nameOf, ...changes }
}

const drawn = (changes: Partial<Flame> = {}, width = WIDTH) => record(flame(shown(changes)), width)
const heats = (changes: Partial<Flame> = {}) =>
  drawn(changes)
    .of('rect', 'load-cpu')
    .map(({ alpha }) => alpha)

describe('the flame graph', () => {
  test('has a row for each level and a bar of its share for each function', () => {
    expect(flame(shown()).height).toBe(4 * ROW)
    const bars = drawn().of('rect', 'sunk')
    expect(
      bars.map(({ points: [[left = 0, top = 0] = [], [right = 0] = []] }) => [left, right + 1, top / ROW]),
    ).toEqual([
      [0, 1_000, 0],
      [0, 750, 1],
      [750, 1_000, 1],
      [0, 750, 2],
      [750, 1_000, 2],
      [0, 500, 3],
      [500, 700, 3],
    ])
  })

  test('is darkest where most time is spent in a function itself', () => {
    const [all, getitem, collate, get, stack, resize, open] = heats()
    expect([all, getitem, collate]).toEqual([0, 0, 0])
    expect(resize).toBe(Math.max(...heats()))
    expect([resize, stack, open, get]).toEqual([resize, stack, open, get].toSorted((a = 0, b = 0) => b - a))
  })

  test('writes function, place and share where they have room, else as much as fits', () => {
    const texts = drawn().texts()
    expect(texts).toEqual(
      expect.arrayContaining(['all', '100%', 'getitem', '75%', 'resize', 'resize.py:11', '50%']),
    )
    const narrow = drawn({}, 120).texts()
    expect(narrow).not.toContain('resize.py:11')
    expect(narrow.filter(text => text.endsWith('…')).length).toBeGreaterThan(0)
  })

  test('writes nothing beyond its bar', () => {
    for (const width of [90, 160, 358, 700]) {
      const recording = drawn({}, width)
      const bars = recording.of('rect', 'sunk')
      for (const { text, align, points } of recording.of('text')) {
        const [[x = 0, y = 0] = []] = points
        const end = align === 'right' ? x : x + CHARACTER * text.length
        const bar = bars.find(
          ({ points: [[left = 0, top = 0] = [], [right = 0, bottom = 0] = []] }) =>
            left <= x && x <= right && top <= y && y <= bottom,
        )
        expect(end, text).toBeLessThanOrEqual(bar?.points[1]?.[0] ?? 0)
      }
    }
  })

  test('draws what was searched for in full, and the rest faint', () => {
    const found = drawn({ matches: matching(root, 'resize') }).of('rect', 'sunk')
    expect(found.map(({ alpha }) => alpha < 1)).toEqual([true, true, true, true, true, false, true])
  })

  test('frames where the reader is', () => {
    const bars = barsOf(root)
    const [frame, ...others] = drawn({ current: bars[5] ?? null }).of('outline')
    expect(others).toEqual([])
    expect(frame?.points).toEqual([
      [1, 3 * ROW + 1],
      [498, 4 * ROW - 2],
    ])
  })

  test('of thousands of functions stays finite and within its width', () => {
    const many = flameTree(randomStacks(3, 2_000, 20))
    const recording = drawn({ bars: barsOf(many), root: many }, 358)
    const outside = recording.of('rect').filter(({ points }) => points.some(([x]) => x < 0 || x > 358.001))
    expect(outside).toEqual([])
  })
})

test('what lies under the pointer is the bar that is drawn there', () => {
  const data = shown()
  const scale = flame(data).scale(WIDTH)
  for (const bar of data.bars) {
    const middle = ((bar.from + bar.to) / 2) * WIDTH
    expect(barAt(data.bars, scale, middle, bar.level * ROW + ROW / 2)).toBe(bar)
  }
  expect(barAt(data.bars, scale, 720, 3 * ROW + 5)).toBeNull()
  expect(barAt(data.bars, scale, 10, 9 * ROW)).toBeNull()
})
