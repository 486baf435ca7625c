/** What was read again and says the same is the same: parts of the page are made anew only for what changed. */

type Parts = Record<string, unknown>

/** `next`, in which every part that equals what stood in its place in `before` is that one. Changes `next`. */
export function kept<T>(before: T | null, next: T): T {
  if (before === next || !isParts(before) || !isParts(next)) return next
  if (Array.isArray(before) !== Array.isArray(next)) return next
  const parts: Parts = next
  const names = Object.keys(parts)
  let isSame = names.length === Object.keys(before).length
  for (const name of names) {
    // Thousands of figures come every few seconds: those that are the same cost next to nothing.
    if (parts[name] === before[name]) continue
    if (isParts(parts[name])) parts[name] = kept(before[name], parts[name])
    isSame &&= parts[name] === before[name]
  }
  return isSame ? before : next
}

function isParts(value: unknown): value is Parts {
  return typeof value === 'object' && value !== null
}
