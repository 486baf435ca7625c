/** Whether a media query holds, as it changes. */
import { useSignal } from '@preact/signals'
import { useEffect } from 'preact/hooks'

/** A phone, with the width that the style files use. */
export const narrow = matchMedia('(max-width: 640px)')

export function useMatch(query: MediaQueryList): boolean {
  const matches = useSignal(query.matches)
  useEffect(() => {
    const changed = () => {
      matches.value = query.matches
    }
    query.addEventListener('change', changed)
    return () => query.removeEventListener('change', changed)
  }, [query, matches])
  return matches.value
}
