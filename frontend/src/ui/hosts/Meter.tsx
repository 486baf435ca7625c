/** How full something is: a bar of parts, and the figure beside it. Not measured is a dash, never an empty bar. */
import type { ComponentChildren } from 'preact'
import { capital, formatFraction, NOT_MEASURED } from '../../format'
import { text } from '../../text/shared'
import './Meter.css'

interface MeterProps {
  /** Shares of the whole with the class of their colour; `null`: not measured. */
  parts: readonly (readonly [kind: string, share: number])[] | null
  /** Why there is nothing. */
  missing?: string | null
  title?: string
  children?: ComponentChildren
}

export function Meter({ parts, missing, title, children }: MeterProps) {
  if (!parts) {
    return (
      <span class="faint" title={missing ? capital(missing) : text.notMeasured}>
        {NOT_MEASURED}
        <span class="visually-hidden"> {missing ?? text.notMeasured}</span>
      </span>
    )
  }
  return (
    <span class="meter" title={title}>
      <span class="meter-bar" aria-hidden="true">
        {parts.map(([kind, share]) => (
          <i key={kind} class={kind} style={{ width: formatFraction(Math.min(1, Math.max(0, share))) }} />
        ))}
      </span>
      <span>{children}</span>
    </span>
  )
}
