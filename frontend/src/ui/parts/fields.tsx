/** Fields: of a form, each with its label; and what is looked for while it is typed. */
import type { Signal } from '@preact/signals'
import type { ComponentProps } from 'preact'

/** Of text, unless its `type` says another. */
export function Field({ label, children, ...attributes }: ComponentProps<'input'> & { label: string }) {
  return (
    <label>
      <span>{label}</span>
      <input class="field" type="text" {...attributes} />
      {children}
    </label>
  )
}

type SelectProps = ComponentProps<'select'> & {
  label: string
  options: readonly (readonly [value: string, label: string])[]
}

export function SelectField({ label, options, ...attributes }: SelectProps) {
  return (
    <label>
      <span>{label}</span>
      <select class="field" {...attributes}>
        {options.map(([value, name]) => (
          <option key={value} value={value}>
            {name}
          </option>
        ))}
      </select>
    </label>
  )
}

interface SearchProps {
  label: string
  typed: Signal<string>
  class?: string
  onKeyDown?(event: KeyboardEvent): void
}

export function Search({ label, typed, class: name = '', onKeyDown }: SearchProps) {
  return (
    <input
      type="search"
      class={`field ${name}`}
      aria-label={label}
      placeholder={label}
      value={typed.value}
      onInput={event => (typed.value = event.currentTarget.value)}
      onKeyDown={onKeyDown}
    />
  )
}
