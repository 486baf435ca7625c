/** Copies a text, and says so for a moment. */
import { useSignal } from '@preact/signals'
import { text as say } from '../../text/shared'
import { Button } from './Button'
import { writeClipboard } from './handOut'

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
    <Button kind={`${small ? 'small' : 'plain'}`} data-shortcut={shortcut} onClick={() => void copy()}>
      <span aria-live="polite">{isCopied.value ? say.copied : label}</span>
      {shortcut && <kbd class="wide-only">{shortcut}</kbd>}
    </Button>
  )
}
