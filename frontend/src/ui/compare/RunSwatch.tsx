/** The line that a compared run is drawn with, beside its name. */
import { runStyle } from '../../charts/declared/compare'

export function RunSwatch({ place }: { place: number }) {
  return (
    <svg class="swatch" width="24" height="10" viewBox="0 0 24 10" aria-hidden="true">
      <path
        d="M0 5h24"
        fill="none"
        stroke={`var(--${runStyle(place).colour})`}
        stroke-width="2.4"
        stroke-dasharray={runStyle(place).dash.join(' ')}
      />
    </svg>
  )
}
