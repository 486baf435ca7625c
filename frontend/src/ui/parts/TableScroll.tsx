/** Around a table: it scrolls sideways on narrow screens, by the keyboard too. */
import type { ComponentChildren } from 'preact'
import './TableScroll.css'

export function TableScroll({ label, children }: { label: string; children: ComponentChildren }) {
  return (
    // biome-ignore lint/a11y/useSemanticElements: a fieldset is for controls
    // biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls on narrow screens, so the keyboard must reach it
    <div class="table-scroll" role="group" aria-label={label} tabIndex={0}>
      {children}
    </div>
  )
}
