/** A button with a small sheet under it: closed by Escape, by a press elsewhere, and by its button. */
import { useSignal } from '@preact/signals'
import type { ComponentChildren } from 'preact'
import { useEffect, useId, useRef } from 'preact/hooks'
import './Popover.css'

const GAP_PX = 4
const MARGIN_PX = 12

interface PopoverProps {
  label: ComponentChildren
  /** Said instead of a label that is only a sign. */
  title?: string | undefined
  /** Of the button. */
  class?: string
  /** Of the sheet: what it holds. */
  kind: 'menu' | 'sheet'
  /** Its content comes when it is opened first. */
  isLazy?: boolean
  children(close: () => void): ComponentChildren
}

export function Popover({ label, title, class: name = '', kind, isLazy = false, children }: PopoverProps) {
  const isOpened = useSignal(!isLazy)
  const id = useId()
  const button = useRef<HTMLButtonElement>(null)
  const sheet = useRef<HTMLDivElement>(null)

  /** The browser places a popover in the window: it is moved under its button, all of it on the screen. */
  function place(): void {
    if (!button.current || !sheet.current) return
    const { bottom, right } = button.current.getBoundingClientRect()
    const { style, offsetWidth, offsetHeight } = sheet.current
    const room = document.documentElement.clientWidth
    // By its right edge: it may still grow to the left.
    style.left = 'auto'
    style.right = `${Math.max(MARGIN_PX, Math.min(room - right, room - offsetWidth - MARGIN_PX))}px`
    style.top = `${Math.max(MARGIN_PX, Math.min(bottom + GAP_PX, innerHeight - offsetHeight - MARGIN_PX))}px`
  }
  useEffect(() => {
    if (!isLazy || !sheet.current) return
    const watching = new ResizeObserver(place)
    watching.observe(sheet.current)
    return () => watching.disconnect()
  }, [])
  function opened(): void {
    isOpened.value = true
    place()
  }
  return (
    <>
      <button
        ref={button}
        type="button"
        class={`button ${name}`}
        popovertarget={id}
        aria-label={title}
        title={title}
      >
        {label}
      </button>
      <div ref={sheet} id={id} popover="auto" class={`popover framed ${kind}`} onToggle={opened}>
        {isOpened.value && children(() => sheet.current?.hidePopover())}
      </div>
    </>
  )
}
