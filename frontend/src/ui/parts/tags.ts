/** Tags as a person writes them, and as they are read again. */
import type { Run } from '../../api/schema'
import { formatTags } from '../../format'

/** `"imagenet, lr=3e-4"` → `{imagenet: "", lr: "3e-4"}`. */
export function tagsOf(text: string): Record<string, string> {
  const words = text
    .split(',')
    .map(word => word.trim())
    .filter(Boolean)
  return Object.fromEntries(words.map(word => [word.split('=', 1)[0], word.split('=').slice(1).join('=')]))
}

export function tagsText(tags: Run['tags']): string {
  return formatTags(tags).join(', ')
}
