/** An answer that was read again: parts that say the same as before stay the same objects. */

type Parts = Record<string, unknown>

/** `next`, with every part that equals its counterpart in `before` replaced by it. Changes `next`. */
export function reuse<T>(before: T | null, next: T): T {
  if (before === next || !isParts(before) || !isParts(next)) return next
  if (Array.isArray(before) !== Array.isArray(next)) return next
  const parts: Parts = next
  const names = Object.keys(parts)
  let isSame = names.length === Object.keys(before).length
  for (const name of names) {
    // Thousands of figures arrive every few seconds: equal ones must cost next to nothing.
    if (parts[name] === before[name]) continue
    if (isParts(parts[name])) parts[name] = reuse(before[name], parts[name])
    isSame &&= parts[name] === before[name]
  }
  return isSame ? before : next
}

function isParts(value: unknown): value is Parts {
  return typeof value === 'object' && value !== null
}
