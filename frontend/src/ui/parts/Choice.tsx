/** One of several: as the browser's own menu, or side by side. */
import type { ComponentChildren } from 'preact'

interface ChoiceProps {
  label: string
  /** Label of the choice of none; left out: one is always chosen. */
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

interface ChoicesProps<T> {
  label: string
  value: T
  options: readonly (readonly [value: T, label: ComponentChildren])[]
  small?: boolean
  onChoose(value: T): void
}

export function Choices<T extends string | null>(props: ChoicesProps<T>) {
  const { label, value, options, small = false, onChoose } = props
  return (
    <fieldset class={`choices ${small ? 'small' : ''}`}>
      <legend class="visually-hidden">{label}</legend>
      {options.map(([option, name]) => (
        <button key={option} type="button" aria-pressed={option === value} onClick={() => onChoose(option)}>
          {name}
        </button>
      ))}
    </fieldset>
  )
}
