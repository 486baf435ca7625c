/** Lines to paste into a script or a shell. */
import { text } from '../../text/shared'
import { CopyButton } from './CopyButton'
import './Snippet.css'

export function Snippet({ code }: { code: string }) {
  return (
    <div class="snippet framed">
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a long one scrolls, so the keyboard must reach it */}
      <pre tabIndex={0}>{code}</pre>
      <CopyButton label={text.copy} text={code} />
    </div>
  )
}
