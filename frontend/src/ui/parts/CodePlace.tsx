/** A file and line in little room: of too long a path its folders end in an ellipsis; the whole is in its title. */
import type { ComponentChildren } from 'preact'
import './CodePlace.css'

interface CodePlaceProps {
  file: string
  line: number | null
  /** In one of these, the first to the last, in place of `line`. */
  lines?: readonly number[] | null
  /** After it, where there is room. */
  within?: string | null
  /** Before it. */
  children?: ComponentChildren
}

export function CodePlace({ file, line, lines = null, within = null, children }: CodePlaceProps) {
  const at = lines?.join('–') ?? line
  const place = at === null ? file : `${file}:${at}`
  const folder = file.slice(0, file.lastIndexOf('/') + 1)
  return (
    <small class="code-place" title={[place, within].filter(Boolean).join(', ')}>
      {children}
      <span class="cut">{folder}</span>
      <span>{place.slice(folder.length)}</span>
      {within && <span class="cut wide-only code-within">{within}</span>}
    </small>
  )
}
