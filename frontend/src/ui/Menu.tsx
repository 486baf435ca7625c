/** A button that opens a short list of things to do. */
import { useId, useRef } from 'preact/hooks'

export type MenuItem =
  | { label: string; detail?: string; act(): void }
  | { label: string; detail?: string; href: string }

interface MenuProps {
  label: string
  /** Said instead of a label that is only a sign. */
  title?: string
  items: readonly MenuItem[]
  small?: boolean
}

export function Menu({ label, title, items, small = false }: MenuProps) {
  const id = useId()
  const button = useRef<HTMLButtonElement>(null)
  const list = useRef<HTMLDivElement>(null)
  const close = () => list.current?.hidePopover()

  /** A popover stands in the window and not beside its button. */
  function place(): void {
    const { bottom, right } = (button.current as HTMLElement).getBoundingClientRect()
    const { style } = list.current as HTMLElement
    style.top = `${Math.min(bottom + 4, innerHeight - 40 * items.length)}px`
    style.right = `${document.documentElement.clientWidth - right}px`
  }
  return (
    <>
      <button
        ref={button}
        type="button"
        class={`button ${small ? 'small' : ''}`}
        popovertarget={id}
        aria-label={title}
        title={title}
      >
        {label}
      </button>
      <div ref={list} id={id} popover="auto" class="menu" onBeforeToggle={place}>
        {items.map(item =>
          'href' in item ? (
            <a key={item.label} href={item.href} download onClick={close}>
              {item.label} {item.detail && <small>{item.detail}</small>}
            </a>
          ) : (
            <button
              key={item.label}
              type="button"
              onClick={() => {
                close()
                item.act()
              }}
            >
              {item.label} {item.detail && <small>{item.detail}</small>}
            </button>
          ),
        )}
      </div>
    </>
  )
}
