/** A window over the page, with its title and what it asks; Escape closes it, as the browser does. */
import type { ComponentChildren } from 'preact'
import { useEffect, useId, useRef } from 'preact/hooks'
import { NoAnswer, ServiceError } from '../../api/client'
import { asSentence } from '../../format'
import './Dialog.css'

interface DialogProps {
  title: string
  class?: string
  onClose(): void
  children(close: () => void): ComponentChildren
}

export function Dialog({ title, class: name = '', onClose, children }: DialogProps) {
  const id = useId()
  const dialog = useRef<HTMLDialogElement>(null)
  useEffect(() => dialog.current?.showModal(), [])
  return (
    <dialog ref={dialog} class={`dialog screen-only ${name}`} aria-labelledby={id} onClose={onClose}>
      <h2 id={id}>{title}</h2>
      {children(() => dialog.current?.close())}
    </dialog>
  )
}

/** Why the service did not do what a dialog asked for. */
export function Refusal({ why }: { why: string | null }) {
  return why === null ? null : (
    <p class="missing" role="alert">
      {asSentence(why)}
    </p>
  )
}

/** Of a request of a dialog. Raises: `error` itself where it is a fault of the page. */
export function refusalOf(error: unknown): string {
  if (error instanceof ServiceError || error instanceof NoAnswer) return error.message
  throw error
}
