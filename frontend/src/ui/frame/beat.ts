/** The dots that say "live" blink as news come. A CSS animation, even one in two steps, draws sixty frames a second. */
import { effect } from '@preact/signals'
import { lastHeardAt } from '../../store/connection'

/** Between two changes, whatever comes. */
const LEAST_MS = 900

export function beatWithNews(): void {
  let beatAt = 0
  effect(() => {
    const heardAt = lastHeardAt.value ?? 0
    if (heardAt - beatAt < LEAST_MS) return
    beatAt = heardAt
    document.documentElement.toggleAttribute('data-beat')
  })
}
