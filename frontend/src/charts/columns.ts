/** Columns of figures over one axis. `null` was not measured and is never taken for 0. */

export type Column = readonly (number | null)[]

/** Index of the last of the ascending `at` that is not after `position`; `null` before the first. */
export function bucketAt(at: readonly number[], position: number): number | null {
  let low = 0
  let high = at.length
  while (low < high) {
    const middle = (low + high) >> 1
    if ((at[middle] ?? 0) <= position) low = middle + 1
    else high = middle
  }
  return low === 0 ? null : low - 1
}

/** The newest measured value. */
export function last(column: Column): number | null {
  return column.findLast(value => value !== null) ?? null
}

export function measured(column: Column): readonly number[] {
  return column.filter(value => value !== null)
}

/** `null` where nothing was measured. Unlike `Math.max(...column)` it takes columns of any length. */
export function highest(column: Column): number | null {
  return column.reduce(
    (most, value) => (value !== null && (most === null || value > most) ? value : most),
    null,
  )
}

export function mean(column: Column): number | null {
  const values = measured(column)
  return values.length === 0 ? null : values.reduce((sum, value) => sum + value, 0) / values.length
}

/** The value below which `share` (0–1) of the measured ones lie; 1 where nothing was measured. */
export function quantile(column: Column, share: number): number {
  const sorted = measured(column).toSorted((a, b) => a - b)
  return sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? 1
}

/** From one position to a later one. */
export interface Stretch {
  from: number
  to: number
}

/** Values that hold from a position on until another, and where each comes from; between them nothing was measured. */
export interface Held {
  at: readonly number[]
  until: readonly number[]
  index: readonly number[]
}

/** Each value holds until the next begins, the last until `end`, and none of them during one of the `gaps`. */
export function held(at: readonly number[], end: number, gaps: readonly Stretch[]): Held {
  const found = { at: [] as number[], until: [] as number[], index: [] as number[] }
  at.forEach((from, index) => {
    for (const piece of without({ from, to: Math.max(from, at[index + 1] ?? end) }, gaps)) {
      found.at.push(piece.from)
      found.until.push(piece.to)
      found.index.push(index)
    }
  })
  return found
}

/** Samples hold until the next one, or for as long as most do: where one is missing nothing is known. */
export function heldSamples(at: readonly number[]): Held {
  const apart = at.slice(1).map((next, index) => next - (at[index] ?? next))
  const usual = apart.toSorted((a, b) => a - b)[apart.length >> 1] ?? 0
  const until = at.map((from, index) =>
    (apart[index] ?? usual) > MISSED * usual ? from + usual : from + (apart[index] ?? usual),
  )
  return { at, until, index: at.map((_, index) => index) }
}

/** Times the usual distance of two samples, from which one between them is missing. */
const MISSED = 3.5

function without(stretch: Stretch, gaps: readonly Stretch[]): readonly Stretch[] {
  const pieces: Stretch[] = []
  let from = stretch.from
  for (const gap of gaps.filter(one => one.to > stretch.from && one.from < stretch.to)) {
    if (gap.from > from) pieces.push({ from, to: gap.from })
    from = Math.max(from, gap.to)
  }
  if (from < stretch.to || stretch.from === stretch.to) pieces.push({ from, to: stretch.to })
  return pieces
}

/** At most `rows` evenly spread indices of `length`, the newest among them: the rows of a table. */
export function evenly(length: number, rows: number): readonly number[] {
  if (length <= rows) return Array.from({ length }, (_, index) => index)
  return Array.from({ length: rows }, (_, index) => Math.round((index * (length - 1)) / (rows - 1)))
}

/**
 * Stretches of measured values, as `[from, to)`: nothing is drawn across what was not measured, nor from a value that
 * `adjoins` says the one before does not adjoin.
 */
export function spans(
  column: Column,
  adjoins: (index: number) => boolean = () => true,
): readonly (readonly [number, number])[] {
  const found: [number, number][] = []
  column.forEach((value, index) => {
    if (value === null) return
    const newest = found.at(-1)
    if (newest?.[1] === index && adjoins(index)) newest[1] = index + 1
    else found.push([index, index + 1])
  })
  return found
}

/**
 * The indices from `from` to before `to` that are worth drawing: of those in one pixel column the first, the lowest,
 * the highest and the last, so that a million values become at most four for each pixel of width.
 */
export function worthDrawing(
  values: Column,
  from: number,
  to: number,
  x: (index: number) => number,
): readonly number[] {
  const kept: number[] = []
  for (let start = from; start < to; ) {
    const pixel = Math.floor(x(start))
    let [end, low, high] = [start, start, start]
    for (; end < to && Math.floor(x(end)) === pixel; end += 1) {
      if ((values[end] ?? 0) < (values[low] ?? 0)) low = end
      if ((values[end] ?? 0) > (values[high] ?? 0)) high = end
    }
    kept.push(...new Set([start, low, high, end - 1].toSorted((a, b) => a - b)))
    start = end
  }
  return kept
}
