/** What is pressed, in the looks of the page. */
import { type Signal, useSignal } from '@preact/signals'
import type { ComponentChild, ComponentChildren, ComponentProps } from 'preact'

interface ButtonProps extends Omit<ComponentProps<'button'>, 'class' | 'ref'> {
  /** `small`: beside a heading; `plain`: without a frame; `primary`: what a form or a bar is for. */
  kind?: string
  'data-shortcut'?: string | undefined
}

export function Button({ kind = '', ...attributes }: ButtonProps) {
  return <button type="button" class={`button ${kind}`} {...attributes} />
}

/** Switches something on and off. */
export function Toggle({ on, children }: { on: Signal<boolean>; children: ComponentChildren }) {
  return (
    <Button kind="small" aria-pressed={on.value} onClick={() => (on.value = !on.value)}>
      {children}
    </Button>
  )
}

/** The first `few` of a list, and where it has more a button that shows all of it, or the first again. */
export function useFirst<T>(
  all: readonly T[],
  few: number,
  say: { all(count: number): string; fewer: string },
): readonly [shown: readonly T[], button: ComponentChild] {
  const showsAll = useSignal(false)
  const button = all.length > few && (
    <Button kind="small" onClick={() => (showsAll.value = !showsAll.value)}>
      {showsAll.value ? say.fewer : say.all(all.length)}
    </Button>
  )
  return [showsAll.value ? all : all.slice(0, few), button]
}
