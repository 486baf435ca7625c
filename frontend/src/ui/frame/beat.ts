/** The dots that say "live" dim and light up with each event. A CSS animation would draw sixty frames a second. */
import { effect } from '@preact/signals'
import { lastReceivedAt } from '../../store/connection'

/** Least time between two changes. */
const LEAST_MS = 900

export function beatWithEvents(): void {
  let beatAt = 0
  effect(() => {
    const receivedAt = lastReceivedAt.value ?? 0
    if (receivedAt - beatAt < LEAST_MS) return
    beatAt = receivedAt
    document.documentElement.toggleAttribute('data-beat')
  })
}
