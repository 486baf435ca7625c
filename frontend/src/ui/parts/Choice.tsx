/** One of several, as the browser's own menu; `any` is the choice of none. */

interface ChoiceProps {
  label: string
  any?: string
  value: string | null
  options: readonly (readonly [value: string, label: string])[]
  onChoose(value: string | null): void
}

export function Choice({ label, any, value, options, onChoose }: ChoiceProps) {
  return (
    <select
      class={`button ${any && value !== null ? 'chosen' : ''}`}
      aria-label={label}
      value={value ?? ''}
      onChange={event => onChoose(event.currentTarget.value || null)}
    >
      {any && <option value="">{any}</option>}
      {options.map(([option, name]) => (
        <option key={option} value={option}>
          {name}
        </option>
      ))}
    </select>
  )
}
