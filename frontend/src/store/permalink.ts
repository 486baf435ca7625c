/** The rank, loader and range shown of a run, as the address has them: a link shows the same to every reader. */
import type { Range, Selection } from './run'

export const WHOLE: Range = { kind: 'whole' }

export function selectionOf(query: URLSearchParams): Selection {
  return {
    rank: whole(query.get('rank')),
    loader: query.get('loader'),
    range: rangeOf(query),
    figures: query.get('percentiles') === 'true' ? 'percentiles' : 'mean',
  }
}

/** The keys to set in an address; `null` removes one. */
export function queryOf({ rank, loader, range, figures }: Selection): Record<string, string | null> {
  const isSteps = range.kind === 'steps'
  return {
    from_step: isSteps ? String(range.from) : null,
    to_step: isSteps ? String(range.to) : null,
    newest_s: range.kind === 'newest' ? String(range.spanS) : null,
    rank: rank === null ? null : String(rank),
    loader,
    percentiles: figures === 'percentiles' ? 'true' : null,
  }
}

export function isSame(one: Selection, other: Selection): boolean {
  return JSON.stringify(queryOf(one)) === JSON.stringify(queryOf(other))
}

/** An incomplete or invalid range shows the whole run. */
function rangeOf(query: URLSearchParams): Range {
  const [from, to, spanS] = ['from_step', 'to_step', 'newest_s'].map(key => whole(query.get(key)))
  if (from != null && to != null && to > from) return { kind: 'steps', from, to }
  return spanS ? { kind: 'newest', spanS } : WHOLE
}

function whole(text: string | null): number | null {
  return text !== null && /^\d{1,15}$/.test(text) ? Number(text) : null
}

/** Narrower or wider (`factor` below or above one), or moved by shares of what is shown. `null`: all is shown. */
export function zoomed(
  shown: { from: number; to: number },
  end: number,
  change: { factor?: number; shift?: number },
): Range | null {
  const { factor = 1, shift = 0 } = change
  const span = Math.max(1, Math.round((shown.to - shown.from) * factor))
  if (span >= end) return null
  const wanted = Math.round((shown.from + shown.to - span) / 2 + span * shift)
  const from = Math.max(0, Math.min(end - span, wanted))
  return { kind: 'steps', from, to: from + span }
}
