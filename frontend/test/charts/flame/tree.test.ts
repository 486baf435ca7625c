// @vitest-environment node
import { describe, expect, test } from 'vitest'
import { type FlameNode, flameTree, found, listed, matching, pathTo } from '../../../src/charts/flame/tree'
import { randomStacks, stacksOf } from './stacks'

const SEEN = stacksOf(
  ['getitem', 'Photos.__getitem__ Image.resize', 60],
  ['getitem', 'Photos.__getitem__', 5],
  ['getitem', 'Photos.__getitem__ Image.open', 20],
  ['collate', 'default_collate', 10],
  ['other', '', 5],
)
const tree = flameTree(SEEN)
const names = (node: FlameNode) => pathTo(node).map(each => each.frame?.function ?? each.stage ?? 'all')
const named = (root: FlameNode, name: string) => {
  const [one] = listed(root).filter(({ node }) => node.frame?.function === name)
  if (!one) throw new Error(name)
  return one.node
}

describe('stacks as a tree', () => {
  test('have the stages below all of loading, and what was seen most often first', () => {
    expect(tree.samples).toBe(100)
    expect(tree.children.map(each => [each.stage, each.samples, each.ownSamples])).toEqual([
      ['getitem', 85, 0],
      ['collate', 10, 0],
      ['other', 5, 5],
    ])
    const [caller] = tree.children[0]?.children ?? []
    expect([caller?.samples, caller?.ownSamples]).toEqual([85, 5])
    expect(caller?.children.map(each => each.frame?.function)).toEqual(['Image.resize', 'Image.open'])
    expect(names(named(tree, 'Image.open'))).toEqual(['all', 'getitem', 'Photos.__getitem__', 'Image.open'])
  })

  test.each([1, 2, 3, 4, 5])('lose no sample (%i)', seed => {
    const stacks = randomStacks(seed, 400)
    const root = flameTree(stacks)
    expect(root.samples).toBe(stacks.stacks.reduce((sum, each) => sum + each.samples, 0))
    const wrong = listed(root).filter(({ node, level }) => {
      const called = node.children.map(each => each.samples)
      const isSorted = called.every((samples, index) => index === 0 || samples <= (called[index - 1] ?? 0))
      const sum = called.reduce((all, samples) => all + samples, node.ownSamples)
      return sum !== node.samples || !isSorted || pathTo(node).length !== level + 2
    })
    expect(wrong).toEqual([])
  })

  test('are found again in a later reading, else what called them', () => {
    const later = flameTree(
      stacksOf(['collate', 'default_collate', 900], ['getitem', 'Photos.__getitem__ Image.open', 20]),
    )
    const other = { ...SEEN, frames: SEEN.frames.map(each => ({ ...each })) }
    expect(names(found(flameTree(other), named(tree, 'Image.open')))).toEqual(
      names(named(tree, 'Image.open')),
    )
    expect(found(later, named(tree, 'Image.resize')).stage).toBe('getitem')
    expect(found(later, tree)).toBe(later)
  })
})

describe('a search', () => {
  test('finds functions and places in any case, and counts what they call once', () => {
    expect(matching(tree, ' ')).toBeNull()
    expect(matching(tree, 'IMAGE')?.samples).toBe(80)
    expect(matching(tree, 'photos.py:10')?.samples).toBe(85)
    expect([...(matching(tree, '.')?.nodes ?? [])]).toHaveLength(4)
    expect(matching(tree, '.')?.samples).toBe(95)
    expect(matching(tree, 'nowhere')).toEqual({ nodes: new Set(), samples: 0 })
  })

  test('counts a function that calls itself once', () => {
    const walk = flameTree(stacksOf(['getitem', 'walk walk walk', 30], ['getitem', 'open', 70]))
    expect(matching(walk, 'walk')?.samples).toBe(30)
    expect(matching(walk, 'walk')?.nodes.size).toBe(3)
  })
})
