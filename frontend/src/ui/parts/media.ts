/** How narrow the page is, as it changes. */
import { type ReadonlySignal, signal } from '@preact/signals'

/** As a phone: with the width that the style files use. */
export const isNarrow = matching('(max-width: 640px)')
/** As a tablet, or narrower: a table with a trend in it is wider. */
export const isMedium = matching('(max-width: 1024px)')

function matching(condition: string): ReadonlySignal<boolean> {
  const query = matchMedia(condition)
  const isSo = signal(query.matches)
  query.addEventListener('change', () => {
    isSo.value = query.matches
  })
  return isSo
}
