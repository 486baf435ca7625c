/** A part of the page whose code and styles come when it is first shown. Runs and Run come with the frame. */
import { signal } from '@preact/signals'
import type { ComponentChild, FunctionComponent } from 'preact'
import { useEffect } from 'preact/hooks'
import { NotLoadedBanner } from './Banner'

/** `load` runs each time that the part is shown until it succeeds; until then `meanwhile` is shown. */
export function onDemand<P extends object>(
  load: () => Promise<FunctionComponent<P>>,
  meanwhile: ComponentChild = null,
): FunctionComponent<P> {
  const loaded = signal<FunctionComponent<P> | null>(null)
  const isFailed = signal(false)
  return function OnDemand(properties: P) {
    useEffect(() => {
      if (loaded.peek()) return
      isFailed.value = false
      load().then(
        part => {
          loaded.value = part
        },
        () => {
          isFailed.value = true
        },
      )
    }, [])
    const Part = loaded.value
    if (Part) return <Part {...properties} />
    return isFailed.value ? <NotLoadedBanner /> : meanwhile
  }
}
