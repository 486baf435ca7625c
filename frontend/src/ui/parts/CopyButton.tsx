/** Copies a text, and says so for a moment. */
import { useSignal } from '@preact/signals'
import { text as say } from '../../text/shared'
import { Button } from './Button'
import { writeClipboard } from './handOut'
import './Snippet.css'

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

/** Lines to paste into a script or a shell. */
export function Snippet({ code }: { code: string }) {
  return (
    <div class="snippet framed">
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a long one scrolls, so the keyboard must reach it */}
      <pre tabIndex={0}>{code}</pre>
      <CopyButton label={say.copy} text={code} />
    </div>
  )
}
