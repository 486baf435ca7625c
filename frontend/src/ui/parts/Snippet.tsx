/** Lines to paste into a script or a shell. */
import { text } from '../../text'
import { CopyButton } from './CopyButton'

export function Snippet({ code }: { code: string }) {
  return (
    <div class="snippet">
      <pre>{code}</pre>
      <CopyButton label={text.copy} text={code} />
    </div>
  )
}
