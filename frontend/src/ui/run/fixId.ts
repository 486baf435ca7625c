/** By what an address leads to what is said in the place of a fix. */
export const INSTEAD = 'fix-0'

/** By what an address leads to a fix. `index`: its place in the list. */
export function fixId(index: number): string {
  return `fix-${index + 1}`
}
