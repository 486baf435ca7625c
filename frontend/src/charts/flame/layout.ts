/** Where the parts of a flame graph lie: a row for each level, as wide as the share of samples, callers above. */
import { type FlameNode, found, pathTo } from './tree'

/** One rectangle. What is too narrow to be seen stands together at the right, as one. */
export interface Bar {
  /** Of the rest: the function that calls it. */
  node: FlameNode
  /** Functions that stand together here; empty: the bar is of `node` itself. */
  rest: readonly FlameNode[]
  samples: number
  /** Shares of the whole width. */
  from: number
  to: number
  /** Rows from the top. */
  level: number
}

/** Of the whole width. A narrower bar is a pixel on a phone, and two or three on a desk: nobody can point at it. */
export const LEAST_FRACTION = 1 / 300

/**
 * `zoomed` and what called it over the whole width, what it calls below, row by row. Bars that are too narrow are one with
 * their neighbours; where all of them together still are, they are left out. So it costs what is seen, not what was counted.
 */
export function barsOf(zoomed: FlameNode): readonly Bar[] {
  const bars: Bar[] = pathTo(zoomed).map((node, level) => barOf(node, 0, 1, level))
  const perSample = zoomed.samples > 0 ? 1 / zoomed.samples : 0
  let row = bars.slice(-1)
  while (row.length > 0) {
    row = row.flatMap(bar => (bar.rest.length > 0 ? [] : below(bar, perSample)))
    bars.push(...row)
  }
  return bars
}

function barOf(node: FlameNode, from: number, to: number, level: number): Bar {
  return { node, rest: [], samples: node.samples, from, to, level }
}

function below({ node, from: left, level }: Bar, perSample: number): readonly Bar[] {
  const bars: Bar[] = []
  let from = left
  for (const each of node.children) {
    const to = from + each.samples * perSample
    if (to - from < LEAST_FRACTION) break
    bars.push(barOf(each, from, to, level + 1))
    from = to
  }
  // Those seen most often come first, so all that are left are too narrow.
  const rest = node.children.slice(bars.length)
  const samples = rest.reduce((sum, each) => sum + each.samples, 0)
  const to = from + samples * perSample
  if (to - from >= LEAST_FRACTION) bars.push({ node, rest, samples, from, to, level: level + 1 })
  return bars
}

/** The bar of `node`; where it is not shown, of the nearest function that calls it. */
export function barFor(bars: readonly Bar[], node: FlameNode): Bar | null {
  for (let here: FlameNode | null = node; here; here = here.parent) {
    const bar = bars.find(each => each.node === here && each.rest.length === 0)
    if (bar) return bar
  }
  return null
}

/** The bar that an arrow key leads to from `bar`: down to the widest one below, up to the caller, along those beside it. */
export function neighbour(bars: readonly Bar[], bar: Bar, key: string): Bar | null {
  const siblings = rowWith(bars, bar)
  const at = siblings.indexOf(bar)
  switch (key) {
    case 'ArrowDown':
      return bar.rest.length > 0 ? null : (calledBy(bars, bar.node)[0] ?? null)
    case 'ArrowUp':
      return callerOf(bars, bar)
    case 'ArrowRight':
      return siblings[at + 1] ?? null
    case 'ArrowLeft':
      return siblings[at - 1] ?? null
    case 'Home':
      return siblings[0] ?? null
    case 'End':
      return siblings.at(-1) ?? null
    default:
      return null
  }
}

/** Those that the same function calls, from left to right. */
export function rowWith(bars: readonly Bar[], bar: Bar): readonly Bar[] {
  const caller = callerOf(bars, bar)
  return caller ? calledBy(bars, caller.node) : [bar]
}

function callerOf(bars: readonly Bar[], { node, rest }: Bar): Bar | null {
  const caller = rest.length > 0 ? node : node.parent
  return caller && barFor(bars, caller)
}

function calledBy(bars: readonly Bar[], caller: FlameNode): readonly Bar[] {
  return bars.filter(({ node, rest }) => (rest.length > 0 ? node : node.parent) === caller)
}

/** How many rows the bars take. */
export function rowsOf(bars: readonly Bar[]): number {
  return 1 + (bars.at(-1)?.level ?? 0)
}

/** Where the bar of an earlier drawing is now; itself or the nearest that calls it; before any, what is zoomed into. */
export function again(bars: readonly Bar[], root: FlameNode, before: Bar | null): Bar {
  const node = found(root, before?.node ?? bars[0]?.node ?? root)
  const rest = before?.rest.length ? bars.find(bar => bar.rest.length > 0 && bar.node === node) : undefined
  return rest ?? barFor(bars, node) ?? barOf(root, 0, 1, 0)
}
