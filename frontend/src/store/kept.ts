/** What was read again and says the same is the same: parts of the page are made anew only for what changed. */

type Parts = Record<string | number, unknown>

/** `next`, in which every part that equals what stood in its place in `before` is that one. Changes `next`. */
export function kept<T>(before: T | null, next: T): T {
  if (before === next || !isParts(before) || !isParts(next)) return next
  if (Array.isArray(before) !== Array.isArray(next)) return next
  return (Array.isArray(next) ? keepRow(before, next) : keepNames(before, next)) ? before : next
}

/** Whether all are as they were. Thousands of figures come every few seconds: those that are the same cost next to nothing. */
function keepRow(before: Parts, next: unknown[]): boolean {
  let isSame = before.length === next.length
  for (let index = 0; index < next.length; index += 1) {
    if (next[index] !== before[index]) isSame = keepPart(before, next as unknown as Parts, index) && isSame
  }
  return isSame
}

function keepNames(before: Parts, next: Parts): boolean {
  const names = Object.keys(next)
  let isSame = names.length === Object.keys(before).length
  for (const name of names) isSame = keepPart(before, next, name) && isSame
  return isSame
}

function keepPart(before: Parts, next: Parts, name: string | number): boolean {
  if (isParts(next[name])) next[name] = kept(before[name], next[name])
  return next[name] === before[name]
}

function isParts(value: unknown): value is Parts {
  return typeof value === 'object' && value !== null
}
