/** Counted stacks as a tree: what was called from where, and how often it was seen. */
import type { HotspotsPage, StackFrame } from '../../api/schema'

type Stage = HotspotsPage['stacks'][number]['stage']

/** A function and line as called by its parent; the root is all of loading, and its children are the stages. */
export interface FlameNode {
  /** `null`: the root. */
  parent: FlameNode | null
  /** `null`: the root. */
  stage: Stage | null
  /** `null`: the root or a stage. */
  frame: StackFrame | null
  /** Seen here, in this function itself and in all that it calls. */
  samples: number
  /** In itself; of a stage: of stacks that were not kept. */
  ownSamples: number
  /** Those seen most often first. */
  children: readonly FlameNode[]
}

interface Growing extends FlameNode {
  children: Growing[]
  /** By frame number, below the root by stage. */
  byKey: Map<number | Stage, Growing>
}

export function flameTree({ frames, stacks }: Pick<HotspotsPage, 'frames' | 'stacks'>): FlameNode {
  const root = grow(null, null, null)
  for (const { stage, frames: places, samples } of stacks) {
    let node = child(root, stage, stage, null)
    root.samples += samples
    node.samples += samples
    for (const place of places) {
      node = child(node, place, stage, frames[place] ?? null)
      node.samples += samples
    }
    node.ownSamples += samples
  }
  sort(root)
  return root
}

function grow(parent: Growing | null, stage: Stage | null, frame: StackFrame | null): Growing {
  return { parent, stage, frame, samples: 0, ownSamples: 0, children: [], byKey: new Map() }
}

function child(parent: Growing, key: number | Stage, stage: Stage, frame: StackFrame | null): Growing {
  const known = parent.byKey.get(key)
  if (known) return known
  const added = grow(parent, stage, frame)
  parent.byKey.set(key, added)
  parent.children.push(added)
  return added
}

/** Stacks are at most some dozen frames deep. */
function sort(node: Growing): void {
  node.children.sort((one, other) => other.samples - one.samples)
  node.children.forEach(sort)
}

/** From the root to `node`. */
export function pathTo(node: FlameNode): readonly FlameNode[] {
  return node.parent ? [...pathTo(node.parent), node] : [node]
}

/** Where `node` of an earlier tree is in the one below `root`: itself, else the nearest of what called it. */
export function found(root: FlameNode, node: FlameNode): FlameNode {
  let here = root
  for (const step of pathTo(node).slice(1)) {
    const next = here.children.find(each => isSame(each, step))
    if (!next) break
    here = next
  }
  return here
}

function isSame(one: FlameNode, other: FlameNode): boolean {
  const [own, others] = [one.frame, other.frame]
  if (!own || !others) return own === others && one.stage === other.stage
  return own.function === others.function && own.file === others.file && own.line === others.line
}

/** All below the root, each after what calls it, with its level below the root from 0. */
export function listed(root: FlameNode, level = 0): readonly { node: FlameNode; level: number }[] {
  return root.children.flatMap(node => [{ node, level }, ...listed(node, level + 1)])
}

/** `"data.py:41"` */
export function placeOf({ file, line }: Pick<StackFrame, 'file' | 'line'>): string {
  return line === null ? file : `${file}:${line}`
}

/** What a search finds: the nodes, and how many samples are in any of them. */
export interface Matches {
  nodes: ReadonlySet<FlameNode>
  samples: number
}

/** Function or place contains `text`, in any case. `null`: nothing is searched for. */
export function matching(root: FlameNode, text: string): Matches | null {
  const wanted = text.trim().toLowerCase()
  if (!wanted) return null
  const nodes = new Set<FlameNode>()
  let samples = 0
  const visit = (node: FlameNode, isInside: boolean): void => {
    const { frame } = node
    const isMatch = frame !== null && `${frame.function} ${placeOf(frame)}`.toLowerCase().includes(wanted)
    if (isMatch) nodes.add(node)
    // What a match calls is in it already.
    if (isMatch && !isInside) samples += node.samples
    for (const each of node.children) visit(each, isInside || isMatch)
  }
  visit(root, false)
  return { nodes, samples }
}
