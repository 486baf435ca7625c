/** A file and line in little room: of too long a path its folders end in an ellipsis; the whole is in its title. */
import type { ComponentChildren } from 'preact'
import './CodePlace.css'

interface CodePlaceProps {
  file: string
  line: number | null
  /** After it, where there is room. */
  within?: string | null
  /** Before it. */
  children?: ComponentChildren
}

export function CodePlace({ file, line, within = null, children }: CodePlaceProps) {
  const place = line === null ? file : `${file}:${line}`
  const folder = file.slice(0, file.lastIndexOf('/') + 1)
  return (
    <small class="code-place" title={place}>
      {children}
      <span class="cut">{folder}</span>
      <span>{place.slice(folder.length)}</span>
      {within && <span class="cut wide-only code-within">{within}</span>}
    </small>
  )
}
