/** What is pressed, in the looks of the page. */
import type { ComponentProps } from 'preact'

interface ButtonProps extends Omit<ComponentProps<'button'>, 'class' | 'ref'> {
  /** `small`: beside a heading; `plain`: without a frame; `primary`: what a form or a bar is for. */
  kind?: string
  'data-shortcut'?: string | undefined
}

export function Button({ kind = '', ...attributes }: ButtonProps) {
  return <button type="button" class={`button ${kind}`} {...attributes} />
}
