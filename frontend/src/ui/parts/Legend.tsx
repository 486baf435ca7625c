/** What each colour beside or above it means. */

export function Legend({ entries }: { entries: readonly (readonly [kind: string, name: string])[] }) {
  return (
    <span class="legend">
      {entries.map(([kind, name]) => (
        <span key={kind}>
          <i class={kind} aria-hidden="true" />
          {name}
        </span>
      ))}
    </span>
  )
}
