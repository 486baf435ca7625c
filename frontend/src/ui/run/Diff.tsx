/** The lines to change in the user's own script, ready to copy; or a sketch of them, and why. */
import type { Advice } from '../../api/schema'
import { advice as say } from '../../text/run'
import { CopyButton } from '../parts/CopyButton'
import './Diff.css'

/** Of about so many characters a row is in the column of fixes, and on a phone. */
const ROW = 44
/** More rows than these are shown only of what is changed: what a sketch remarks after it is folded. */
const MOST_ROWS = 12

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
  const shown = shownOf(lines)
  return (
    <div class="diff framed">
      <div class="diff-file row faint">
        <span>{say.originOfDiff(file, sketch, diff)}</span>
        <CopyButton label={labelOf(advice)} text={diff} shortcut={shortcut} />
      </div>
      <Lines lines={lines.slice(0, shown)} />
      {shown < lines.length && (
        <details>
          <summary class="detail">{say.moreLines(lines.length - shown)}</summary>
          <Lines lines={lines.slice(shown)} />
        </details>
      )}
    </div>
  )
}

function Lines({ lines }: { lines: readonly string[] }) {
  return (
    <pre>
      {lines.map((line, index) => (
        <span key={index} class={KINDS[line[0] ?? ''] ?? ''}>
          {`${line}\n`}
        </span>
      ))}
    </pre>
  )
}

/** Of the lines so many come first that every change is among them; all, where they are few. */
function shownOf(lines: readonly string[]): number {
  const rows = lines.reduce((sum, line) => sum + Math.max(1, Math.ceil(line.length / ROW)), 0)
  const lastChange = lines.findLastIndex(line => (line[0] ?? '') in KINDS)
  // A single line takes no more room than the one that would say so.
  return rows <= MOST_ROWS || lastChange + 2 >= lines.length ? lines.length : lastChange + 1
}
