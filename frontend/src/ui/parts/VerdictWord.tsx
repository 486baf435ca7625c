/** A verdict as word, shape and tone, and details beside it. */
import type { ComponentChildren } from 'preact'
import { type Judged, verdictTone, verdictWord } from '../../verdict'
import { VerdictGlyph } from './Glyph'

interface VerdictWordProps {
  judged: Judged
  class?: string
  children?: ComponentChildren
}

export function VerdictWord({ judged, class: name = '', children }: VerdictWordProps) {
  return (
    <span class={`with-glyph ${name} ${verdictTone(judged)}`} title={judged.no_loader ?? undefined}>
      <VerdictGlyph judged={judged} />
      {verdictWord(judged)}
      {children}
    </span>
  )
}
