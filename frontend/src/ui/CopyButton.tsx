/** Copies a text, and says so for a moment. */
import { useSignal } from '@preact/signals'
import { text as say } from '../text'

const SAID_MS = 1_600

interface CopyButtonProps {
  label: string
  text: string
  shortcut?: string | undefined
  small?: boolean
}

export function CopyButton({ label, text, shortcut, small = false }: CopyButtonProps) {
  const isCopied = useSignal(false)

  async function copy(): Promise<void> {
    await writeClipboard(text)
    isCopied.value = true
    setTimeout(() => {
      isCopied.value = false
    }, SAID_MS)
  }

  return (
    <button
      type="button"
      class={`button ${small ? 'small' : 'plain'}`}
      data-shortcut={shortcut}
      onClick={() => void copy()}
    >
      <span aria-live="polite">{isCopied.value ? say.copied : label}</span>
      {shortcut && <kbd>{shortcut}</kbd>}
    </button>
  )
}

/** A team's service is often plain HTTP on a host name, where browsers keep the clipboard API away. */
async function writeClipboard(text: string): Promise<void> {
  try {
    return await navigator.clipboard.writeText(text)
  } catch {
    // No such API here, or it may not be used: the old way asks nobody.
  }
  const area = document.createElement('textarea')
  area.value = text
  area.className = 'visually-hidden'
  document.body.append(area)
  area.select()
  document.execCommand('copy')
  area.remove()
}
