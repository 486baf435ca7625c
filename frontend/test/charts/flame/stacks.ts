/** Pages of stacks for tests: written by hand, or random and reproducible. */
import type { HotspotsPage } from '../../../src/api/schema'

type Stage = HotspotsPage['stacks'][number]['stage']
export type Stacks = Pick<HotspotsPage, 'frames' | 'stacks'>

/** Each line: stage, functions from the outermost inwards, samples. Files and lines follow from the functions. */
export function stacksOf(...lines: readonly (readonly [Stage, string, number])[]): Stacks {
  const names = [...new Set(lines.flatMap(([, path]) => path.split(' ').filter(Boolean)))]
  const file = (name: string) => `${name.split('.')[0]?.toLowerCase()}.py`
  return {
    frames: names.map((name, index) => ({
      ...{ function: name, file: file(name), line: 10 + index },
      is_own: name.includes('__getitem__'),
    })),
    stacks: lines.map(([stage, path, samples]) => ({
      stage,
      frames: path
        .split(' ')
        .filter(Boolean)
        .map(name => names.indexOf(name)),
      samples,
    })),
  }
}

/** A small generator of numbers from 0 to 1 (mulberry32): the same for the same seed. */
export function numbers(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296
  }
}

/** Stacks that share callers; few are seen often, most rarely. */
export function randomStacks(seed: number, count: number, deepest = 12): Stacks {
  const next = numbers(seed)
  const frames = Array.from({ length: 40 }, (_, index) => ({
    function: `f${index}`,
    file: `m${index % 7}.py`,
    line: index % 11 === 0 ? null : index,
    is_own: index % 5 === 0,
  }))
  const stages = ['getitem', 'collate', 'other'] as const
  const stacks = Array.from({ length: count }, () => ({
    stage: stages[Math.floor(next() ** 2 * 3)] ?? 'getitem',
    frames: Array.from({ length: Math.floor(next() * deepest) }, () => Math.floor(next() ** 2 * 40)),
    samples: 1 + Math.floor(1 / (next() + 0.002)),
  }))
  return { frames, stacks }
}
