/** What the browser keeps of a reader's choices. Where it keeps nothing for a site, a choice lasts until the page is left. */

export function recall(key: string): string | null {
  try {
    return localStorage.getItem(key)
  } catch {
    return null
  }
}

/** `null` forgets. */
export function keep(key: string, value: string | null): void {
  try {
    if (value === null) localStorage.removeItem(key)
    else localStorage.setItem(key, value)
  } catch {
    // Blocked, or full: the choice itself has been made.
  }
}
