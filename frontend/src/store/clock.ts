/** The passing of seconds, for ages and countdowns: one timer for the page. */
import { signal } from '@preact/signals'

/** `Date.now()`, once a second. */
export const now = signal(Date.now())

setInterval(() => {
  now.value = Date.now()
}, 1_000)
