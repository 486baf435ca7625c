/** The lines to change in the user's own script, ready to copy; or a sketch of them, and why. */
import type { Advice } from '../../api/schema'
import { advice as say } from '../../text/run'
import { CopyButton } from '../parts/CopyButton'
import './Diff.css'

const KINDS: Record<string, string> = { '+': 'added', '-': 'removed' }

/** Of no file and no sketch: to be run as it is. */
function labelOf({ sketch, diff_file: file }: Advice): string {
  if (sketch) return say.copySketch
  return file === null ? say.copyCommand : say.copyDiff
}

export function Diff({ advice, shortcut }: { advice: Advice; shortcut: string | undefined }) {
  const { diff, diff_file: file, sketch } = advice
  if (!diff) return null
  const lines = diff.replace(/\n$/, '').split('\n')
  return (
    <div class="diff framed">
      <div class="diff-file row faint">
        <span>{say.originOfDiff(file, sketch, diff)}</span>
        <CopyButton label={labelOf(advice)} text={diff} shortcut={shortcut} />
      </div>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a long one scrolls, so the keyboard must reach it */}
      <pre tabIndex={0}>
        {lines.map((line, index) => (
          <span key={index} class={KINDS[line[0] ?? ''] ?? ''}>
            {`${line}\n`}
          </span>
        ))}
      </pre>
    </div>
  )
}
