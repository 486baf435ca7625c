/** By what an address leads to the list of fixes, or to what is said in their place. */
export const FIXES = 'fixes'

/** By what an address leads to a fix. `index`: its place in the list. */
export function fixId(index: number): string {
  return `fix-${index + 1}`
}
