/** Names in a line: the first few, and how many more there are; all of them under the pointer and for screen readers. */
import { several as say } from '../../text/shared'

/** More than these are a list to look up, not to read. */
const FEW = 2

export function Several({ names }: { names: readonly string[] }) {
  const few = namesInShort(names)
  return <span title={names.length > FEW + 1 ? names.join(', ') : undefined}>{few}</span>
}

/** The same as plain text. */
export function namesInShort(names: readonly string[]): string {
  if (names.length <= FEW + 1) return names.join(', ')
  return say.more(names.slice(0, FEW).join(', '), names.length - FEW)
}
