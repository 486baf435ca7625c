/**
 * The Markdown that notes are written in, a part of CommonMark: paragraphs, headings, lists, code, bold, italics, links.
 * What is not known stays as it was typed, HTML too. Parsed into a tree and never into HTML, so nothing in it can run.
 */
import { type Piece, pieces } from './links'

export type Span = Piece & { kind?: 'code' | 'strong' | 'em' }

export type Block =
  | { kind: 'p'; spans: readonly Span[] }
  | { kind: 'heading'; spans: readonly Span[] }
  | { kind: 'ul' | 'ol'; items: readonly (readonly Span[])[] }
  | { kind: 'pre'; text: string }

const FENCE = /^\s*```/
const HEADING = /^#{1,6}\s+(.*)$/
const ITEM = /^\s*(?:([-*+])|\d{1,9}[.)])\s+(.*)$/

/** Each part stops at its own next mark and at the end of the line, so that a long text takes no longer than its length. */
const MARKED =
  /`([^`\n]+)`|\*\*([^*\n]+)\*\*|\*([^*\s][^*\n]*)\*|\[([^[\]\n]+)\]\((https?:\/\/[^\s()<>"]+)\)/g

export function blocks(text: string): readonly Block[] {
  const found: Block[] = []
  const lines = text.split('\n')
  for (let at = 0; at < lines.length; ) {
    const taken = blockAt(lines, at)
    if (taken.block) found.push(taken.block)
    at = taken.next
  }
  return found
}

function blockAt(lines: readonly string[], at: number): { block?: Block; next: number } {
  const line = lines[at] ?? ''
  if (!line.trim()) return { next: at + 1 }
  if (FENCE.test(line)) {
    const end = until(lines, at + 1, each => FENCE.test(each))
    return { block: { kind: 'pre', text: lines.slice(at + 1, end).join('\n') }, next: end + 1 }
  }
  const heading = HEADING.exec(line)
  if (heading) return { block: { kind: 'heading', spans: spans(heading[1] ?? '') }, next: at + 1 }
  const kind = listOf(line)
  if (kind) {
    const end = until(lines, at, each => listOf(each) !== kind)
    const items = lines.slice(at, end).map(each => spans(ITEM.exec(each)?.[2] ?? ''))
    return { block: { kind, items }, next: end }
  }
  const end = until(lines, at + 1, isOther)
  return { block: { kind: 'p', spans: spans(lines.slice(at, end).join('\n')) }, next: end }
}

function listOf(line: string): 'ul' | 'ol' | null {
  const item = ITEM.exec(line)
  return item && (item[1] ? 'ul' : 'ol')
}

/** Ends a paragraph. */
const isOther = (line: string) => !line.trim() || FENCE.test(line) || HEADING.test(line) || ITEM.test(line)

function until(lines: readonly string[], from: number, isEnd: (line: string) => boolean): number {
  let at = from
  while (at < lines.length && !isEnd(lines[at] ?? '')) at += 1
  return at
}

export function spans(text: string): readonly Span[] {
  const found: Span[] = []
  let done = 0
  for (const match of text.matchAll(MARKED)) {
    const [whole, code, strong, em, words, href] = match
    found.push(...pieces(text.slice(done, match.index)))
    done = match.index + whole.length
    if (code !== undefined) found.push({ kind: 'code', text: code })
    else if (strong !== undefined) found.push({ kind: 'strong', text: strong })
    else if (em !== undefined) found.push({ kind: 'em', text: em })
    else if (words !== undefined && href !== undefined) found.push({ text: words, href })
  }
  found.push(...pieces(text.slice(done)))
  return found
}
