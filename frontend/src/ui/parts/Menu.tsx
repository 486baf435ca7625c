/** A button that opens a short list of things to do. */
import { Popover } from './Popover'

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
  return (
    <Popover label={label} title={title} class={small ? 'small' : ''} kind="menu">
      {close =>
        items.map(item =>
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
        )
      }
    </Popover>
  )
}
