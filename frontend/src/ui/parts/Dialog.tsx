/** A window over the page, with its title and what it asks; Escape closes it, as the browser does. */
import { useSignal } from '@preact/signals'
import type { ComponentChildren } from 'preact'
import { useEffect, useId, useRef } from 'preact/hooks'
import { NoAnswer, ServiceError } from '../../api/client'
import { asSentence } from '../../format'
import { text } from '../../text/shared'
import { Button } from './Button'
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
    <dialog ref={dialog} class={`dialog framed screen-only ${name}`} aria-labelledby={id} onClose={onClose}>
      <h2 id={id}>{title}</h2>
      {children(() => dialog.current?.close())}
    </dialog>
  )
}

interface FormDialogProps {
  title: string
  /** The form's content. */
  class?: string
  /** What the button that saves says. */
  save?: string
  /** There is something to save. */
  canSave?: boolean
  /** Why the form could not be filled. */
  trouble?: string | null
  /** Where it raises ServiceError or NoAnswer, the dialog stays and says why. */
  onSave(form: FormData): Promise<void> | void
  onClose(): void
  children: ComponentChildren
}

export function FormDialog(props: FormDialogProps) {
  const {
    title,
    class: name = '',
    save = text.save,
    canSave = true,
    trouble = null,
    onSave,
    onClose,
    children,
  } = props
  const refusal = useSignal<string | null>(null)
  async function submit(event: SubmitEvent, close: () => void): Promise<void> {
    event.preventDefault()
    try {
      await onSave(new FormData(event.currentTarget as HTMLFormElement))
      close()
    } catch (error) {
      refusal.value = refusalOf(error)
    }
  }
  const why = refusal.value ?? trouble
  return (
    <Dialog title={title} onClose={onClose}>
      {close => (
        <form class={`dialog-form ${name}`} onSubmit={event => void submit(event, close)}>
          {children}
          {why !== null && (
            <p class="missing" role="alert">
              {asSentence(why)}
            </p>
          )}
          <p class="dialog-actions row">
            <Button type="submit" kind="primary" disabled={!canSave}>
              {save}
            </Button>
            <Button kind="plain" onClick={close}>
              {text.cancel}
            </Button>
          </p>
        </form>
      )}
    </Dialog>
  )
}

/** Why the service refused. Raises: `error` itself where it is a bug of the page. */
export function refusalOf(error: unknown): string {
  if (error instanceof ServiceError || error instanceof NoAnswer) return error.message
  throw error
}
