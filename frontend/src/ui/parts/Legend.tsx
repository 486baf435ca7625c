/** What each colour beside or above it means; colours by their names in the style sheet. */

export function Legend({ entries }: { entries: readonly (readonly [colour: string, name: string])[] }) {
  return (
    <span class="legend">
      {entries.map(([colour, name]) => (
        <span key={colour}>
          <i style={{ background: `var(--${colour})` }} aria-hidden="true" />
          {name}
        </span>
      ))}
    </span>
  )
}
