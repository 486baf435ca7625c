/** A verdict as word, shape and tone, and details beside it. */
import type { ComponentChildren } from 'preact'
import { type Judged, verdictTone, verdictWord } from '../../verdict'
import { VerdictGlyph } from './Glyph'

interface VerdictWordProps {
  judged: Judged
  class?: string
  /** Said instead, where there is room for one. */
  word?: string | null | undefined
  children?: ComponentChildren
}

export function VerdictWord({ judged, class: name = '', word, children }: VerdictWordProps) {
  return (
    <span class={`with-glyph ${name} ${verdictTone(judged)}`} title={judged.no_loader ?? undefined}>
      <VerdictGlyph judged={judged} />
      {word ?? verdictWord(judged)}
      {children}
    </span>
  )
}
