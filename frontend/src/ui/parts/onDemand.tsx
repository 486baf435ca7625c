/** A part of the page whose code and styles come when it is first shown, behind a fence of its own. Runs and Run come with the frame. */
import { signal } from '@preact/signals'
import type { ComponentChild, ComponentChildren, FunctionComponent } from 'preact'
import { useEffect, useErrorBoundary } from 'preact/hooks'
import { FaultBanner, NotLoadedBanner } from './Banner'

type OnDemand<P> = FunctionComponent<P> & {
  /** Loads it before it is shown, so that it then stands there at once. Never raises: a failure is reported where it is shown. */
  ahead(): Promise<void>
}

/** `load` runs each time that the part is shown until it succeeds; until then `meanwhile` is shown. */
export function onDemand<P extends object>(
  load: () => Promise<FunctionComponent<P>>,
  meanwhile: ComponentChild = null,
): OnDemand<P> {
  const loaded = signal<FunctionComponent<P> | null>(null)
  const isFailed = signal(false)
  async function ahead(): Promise<void> {
    if (loaded.peek()) return
    isFailed.value = false
    try {
      loaded.value = await load()
    } catch {
      isFailed.value = true
    }
  }
  function Shown(properties: P) {
    useEffect(() => void ahead(), [])
    const Part = loaded.value
    if (Part)
      return (
        <Fence>
          <Part {...properties} />
        </Fence>
      )
    return isFailed.value ? <NotLoadedBanner /> : meanwhile
  }
  return Object.assign(Shown, { ahead })
}

/** Around a part of a page: where drawing it fails, the rest stays as it is. */
export function Fence({ children }: { children: ComponentChildren }) {
  const [fault, retry] = useErrorBoundary()
  return fault ? <FaultBanner error={fault as Error} onRetry={retry} /> : children
}
