/** Whether the page is as narrow as a phone, as it changes: with the width that the style files use. */
import { signal } from '@preact/signals'

const query = matchMedia('(max-width: 640px)')

export const isNarrow = signal(query.matches)

query.addEventListener('change', () => {
  isNarrow.value = query.matches
})
