/** A heading with its small print and controls, and what it heads; a chart can be read as a table instead. */
import { useSignal } from '@preact/signals'
import type { ComponentChildren } from 'preact'
import { useId } from 'preact/hooks'
import { text } from '../text'

interface PanelProps {
  title: string
  detail?: ComponentChildren
  controls?: ComponentChildren
  /** The same as a table; the panel then has the button that switches. */
  table?: (() => ComponentChildren) | undefined
  class?: string
  children: ComponentChildren
}

export function Panel({ title, detail, controls, table, class: name = '', children }: PanelProps) {
  const id = useId()
  const isTable = useSignal(false)
  return (
    <section class={`panel ${name}`} aria-labelledby={id}>
      <header>
        <h2 id={id}>{title}</h2>
        {detail && <span class="detail">{detail}</span>}
        <span class="controls">
          {controls}
          {table && (
            <button
              type="button"
              class="button small"
              aria-pressed={isTable.value}
              aria-label={`${isTable.value ? text.asChart : text.asTable}: ${title}`}
              onClick={() => (isTable.value = !isTable.value)}
            >
              {isTable.value ? text.asChart : text.asTable}
            </button>
          )}
        </span>
      </header>
      {isTable.value && table ? table() : children}
    </section>
  )
}
