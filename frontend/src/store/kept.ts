/** What was read again and says the same is the same: parts of the page are made anew only for what changed. */

type Parts = Record<string | number, unknown>

/** `next`, in which every part that equals what stood in its place in `before` is that one. Changes `next`. */
export function kept<T>(before: T | null, next: T): T {
  if (before === next || !isParts(before) || !isParts(next)) return next
  return keepParts(before, next) ? before : next
}

/** Whether all are as they were. */
function keepParts(before: Parts, next: Parts): boolean {
  if (Array.isArray(before) !== Array.isArray(next)) return false
  let isSame = sizeOf(before) === sizeOf(next)
  for (const name of Array.isArray(next) ? next.keys() : Object.keys(next)) {
    next[name] = kept(before[name], next[name])
    isSame &&= next[name] === before[name]
  }
  return isSame
}

function isParts(value: unknown): value is Parts {
  return typeof value === 'object' && value !== null
}

function sizeOf(parts: Parts): number {
  return Array.isArray(parts) ? parts.length : Object.keys(parts).length
}
