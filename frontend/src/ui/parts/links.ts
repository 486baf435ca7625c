/** Plain text with the addresses in it set apart, so that they can be followed. No other markup is known. */

export interface Piece {
  text: string
  /** Left out: words. */
  href?: string
}

/** Only of the web: what else an address may begin with can run code. */
const ADDRESS = /https?:\/\/[^\s<>"'`]+/gi
const OPENED: Readonly<Record<string, string>> = { ')': '(', ']': '[', '}': '{' }

export function pieces(text: string): readonly Piece[] {
  const found: Piece[] = []
  let done = 0
  for (const { 0: written, index } of text.matchAll(ADDRESS)) {
    const address = trimmed(written)
    if (!isAddress(address)) continue
    if (index > done) found.push({ text: text.slice(done, index) })
    found.push({ text: address, href: address })
    done = index + address.length
  }
  if (done < text.length) found.push({ text: text.slice(done) })
  return found
}

/** What ends a sentence, or closes a bracket that was opened before the address, is not of it. */
function trimmed(written: string): string {
  const tooMany = new Map(
    Object.entries(OPENED).map(([close, open]) => [close, count(written, close) - count(written, open)]),
  )
  let end = written.length
  for (; end > 0; end -= 1) {
    const last = written[end - 1] ?? ''
    const excess = tooMany.get(last) ?? 0
    if (excess > 0) tooMany.set(last, excess - 1)
    else if (!/[.,;:!?*_]/.test(last)) break
  }
  return written.slice(0, end)
}

const count = (text: string, letter: string) => text.split(letter).length - 1

function isAddress(text: string): boolean {
  try {
    const { protocol, hostname } = new URL(text)
    return /^https?:$/.test(protocol) && hostname !== ''
  } catch {
    return false
  }
}
