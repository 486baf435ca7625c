// @vitest-environment node
import { describe, expect, test } from 'vitest'
import {
  again,
  type Bar,
  barFor,
  barsOf,
  LEAST_FRACTION,
  neighbour,
  rowsOf,
  rowWith,
} from '../../../src/charts/flame/layout'
import { type FlameNode, flameTree, listed, pathTo } from '../../../src/charts/flame/tree'
import { numbers, randomStacks, stacksOf } from './stacks'

const nameOf = ({ node, rest }: Bar) =>
  rest.length > 0 ? `${rest.length} more` : (node.frame?.function ?? node.stage ?? 'all')
const callerOf = ({ node, rest }: Bar) => (rest.length > 0 ? node : node.parent)
/** What adding up shares may be wrong by. */
const SLACK = 1e-9
const TREE = flameTree(
  stacksOf(['getitem', 'get resize', 50], ['getitem', 'get open', 25], ['collate', 'stack', 25]),
)
const at = (bars: readonly Bar[], name: string) => {
  const bar = bars.find(each => nameOf(each) === name)
  if (!bar) throw new Error(`${name} is none of ${bars.map(nameOf)}`)
  return bar
}
const walk = (bars: readonly Bar[], ...keys: string[]) =>
  keys.reduce<Bar>((bar, key) => neighbour(bars, bar, key) ?? bar, again(bars, TREE, null))

/** Trees of many shapes, each zoomed into somewhere. */
const MANY = Array.from({ length: 12 }, (_, seed): [number, FlameNode, FlameNode] => {
  const root = flameTree(randomStacks(seed, 40 + 60 * seed))
  const nodes = listed(root)
  const zoomed = nodes[Math.floor(numbers(seed)() * nodes.length)]?.node ?? root
  return [seed, root, seed % 3 === 0 ? root : zoomed]
})

describe('the bars of a flame graph', () => {
  test('are as wide as their share, what is called below what calls it', () => {
    const bars = barsOf(TREE)
    expect(bars.map(bar => [nameOf(bar), bar.level, bar.from, bar.to])).toEqual([
      ['all', 0, 0, 1],
      ['getitem', 1, 0, 0.75],
      ['collate', 1, 0.75, 1],
      ['get', 2, 0, 0.75],
      ['stack', 2, 0.75, 1],
      ['resize', 3, 0, 0.5],
      ['open', 3, 0.5, 0.75],
    ])
    expect(rowsOf(bars)).toBe(4)
  })

  test('zoomed into a function are that one and its callers over the whole width', () => {
    const bars = barsOf(at(barsOf(TREE), 'get').node)
    expect(bars.map(bar => [nameOf(bar), bar.from, bar.to.toFixed(3)])).toEqual([
      ['all', 0, '1.000'],
      ['getitem', 0, '1.000'],
      ['get', 0, '1.000'],
      ['resize', 0, '0.667'],
      ['open', expect.closeTo(50 / 75), '1.000'],
    ])
  })

  test('too narrow to be seen are one', () => {
    const rare = Array.from({ length: 40 }, (_, index) => ['getitem', `get f${index}`, 1] as const)
    const bars = barsOf(flameTree(stacksOf(['getitem', 'get resize', 960], ...rare)))
    const rest = at(bars, '40 more')
    expect([rest.samples, rest.level, nameOf({ ...rest, rest: [] })]).toEqual([40, 3, 'get'])
    expect(rest.to - rest.from).toBeCloseTo(0.04)
    expect(bars.map(nameOf)).not.toContain('f0')
    expect(barsOf(at(bars, 'get').node).map(nameOf)).toContain('40 more')
  })

  test.each(MANY)('lie within their caller, side by side (%i)', (_, root, zoomed) => {
    const bars = barsOf(zoomed)
    const depth = pathTo(zoomed).length - 1
    const isWithin = (bar: Bar) => {
      const caller = bars.find(each => each.rest.length === 0 && each.node === callerOf(bar))
      return caller?.level === bar.level - 1 && bar.from >= caller.from - SLACK && bar.to <= caller.to + SLACK
    }
    expect(
      bars.filter(bar => bar.to - bar.from < LEAST_FRACTION || bar.from < 0 || bar.to > 1 + SLACK),
    ).toEqual([])
    expect(bars.filter(bar => bar.level > depth && !isWithin(bar))).toEqual([])
    const overlapping = bars.filter((bar, index) => {
      const before = bars[index - 1]
      return before?.level === bar.level && bar.from < before.to - SLACK
    })
    expect(overlapping).toEqual([])
    expect(bars[0]?.node).toBe(root)
  })

  test.each(MANY)(
    'show every function, or count it, or are all together too narrow (%i)',
    (_, __, zoomed) => {
      const bars = barsOf(zoomed)
      for (const bar of bars.filter(
        ({ rest, level }) => rest.length === 0 && level >= pathTo(zoomed).length - 1,
      )) {
        const below = bars.filter(each => callerOf(each) === bar.node)
        const shown = below.flatMap(each => (each.rest.length > 0 ? each.rest : [each.node]))
        const left = bar.node.children.filter(each => !shown.includes(each))
        const samples = left.reduce((sum, each) => sum + each.samples, 0)
        expect(samples / zoomed.samples).toBeLessThan(LEAST_FRACTION)
        if (shown.length > 0 && samples > 0) expect(below.every(each => each.rest.length === 0)).toBe(true)
      }
    },
  )

  test('of ten thousand nodes are few', () => {
    const root = flameTree(randomStacks(7, 3_000, 20))
    expect(listed(root).length).toBeGreaterThan(10_000)
    const bars = barsOf(root)
    expect(bars.length).toBeLessThan(rowsOf(bars) / LEAST_FRACTION)
    expect(bars.length).toBeLessThan(2_000)
  })
})

describe('the arrow keys', () => {
  const bars = barsOf(TREE)

  test('begin at all of loading, and lead down to the largest, up, and along', () => {
    expect(nameOf(walk(bars))).toBe('all')
    expect(nameOf(walk(bars, 'ArrowDown', 'ArrowDown', 'ArrowDown'))).toBe('resize')
    expect(nameOf(walk(bars, 'ArrowDown', 'ArrowDown', 'ArrowDown', 'ArrowRight'))).toBe('open')
    expect(nameOf(walk(bars, 'ArrowDown', 'ArrowDown', 'ArrowDown', 'ArrowRight', 'ArrowUp'))).toBe('get')
    expect(nameOf(walk(bars, 'ArrowDown', 'End'))).toBe('collate')
    expect(nameOf(walk(bars, 'ArrowDown', 'End', 'Home'))).toBe('getitem')
  })

  test('end at the edges', () => {
    expect(neighbour(bars, at(bars, 'all'), 'ArrowUp')).toBeNull()
    expect(neighbour(bars, at(bars, 'all'), 'ArrowRight')).toBeNull()
    expect(neighbour(bars, at(bars, 'open'), 'ArrowRight')).toBeNull()
    expect(neighbour(bars, at(bars, 'open'), 'ArrowDown')).toBeNull()
    expect(neighbour(bars, at(bars, 'open'), 'x')).toBeNull()
  })

  test.each(MANY)('reach every bar from the top (%i)', (_, __, zoomed) => {
    const all = barsOf(zoomed)
    const reached = new Set<Bar>()
    const open = all.slice(0, 1)
    for (let bar = open.pop(); bar; bar = open.pop()) {
      if (reached.has(bar)) continue
      reached.add(bar)
      for (const key of ['ArrowDown', 'ArrowRight']) {
        const next = neighbour(all, bar, key)
        if (next) open.push(next)
      }
    }
    expect(reached.size).toBe(all.length)
    expect(all.filter(bar => !rowWith(all, bar).includes(bar))).toEqual([])
  })

  test.each(MANY)('lead back: up from below, left from the right (%i)', (_, __, zoomed) => {
    const all = barsOf(zoomed)
    const isLost = (bar: Bar, there: string, back: string) => {
      const next = neighbour(all, bar, there)
      return next !== null && neighbour(all, next, back) !== bar
    }
    expect(all.filter(bar => isLost(bar, 'ArrowDown', 'ArrowUp'))).toEqual([])
    expect(all.filter(bar => isLost(bar, 'ArrowRight', 'ArrowLeft'))).toEqual([])
  })
})

describe('where the reader is', () => {
  test('stays the same function in a later reading, and its caller where it is not drawn', () => {
    const open = at(barsOf(TREE), 'open')
    const later = flameTree(stacksOf(['getitem', 'get resize', 9_990], ['getitem', 'get open', 10]))
    expect(nameOf(again(barsOf(later), later, open))).toBe('get')
    const same = flameTree(
      stacksOf(['getitem', 'get resize', 150], ['getitem', 'get open', 125], ['collate', 'stack', 25]),
    )
    expect(again(barsOf(same), same, open).samples).toBe(125)
    expect(barFor(barsOf(TREE), open.node)).toEqual(open)
  })

  test('stays with those that stand together', () => {
    const rare = Array.from({ length: 40 }, (_, index) => ['getitem', `get f${index}`, 1] as const)
    const [one, other] = [960, 1_200].map(samples =>
      flameTree(stacksOf(['getitem', 'get resize', samples], ...rare)),
    )
    if (!one || !other) throw new Error('two trees')
    expect(nameOf(again(barsOf(other), other, at(barsOf(one), '40 more')))).toBe('40 more')
  })
})
