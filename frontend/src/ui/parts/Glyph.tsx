/** Status and verdict as shapes, which differ without colour too. */
import type { ComponentChildren, ComponentProps } from 'preact'
import type { RunSummary } from '../../api/schema'
import { hasSomeWait, isOpen, type Judged, verdictTone, verdictWord } from '../../verdict'

const GLYPH = { width: 12, height: 12, viewBox: '0 0 12 12', class: 'glyph' } as const

export function StatusGlyph({ status }: Pick<RunSummary, 'status'>) {
  switch (status) {
    case 'running':
      return (
        <svg {...GLYPH} class="glyph beating" aria-hidden="true">
          <circle cx="6" cy="6" r="4" fill="var(--good)" />
        </svg>
      )
    case 'finished':
      return <Shape d="M2 6.5l2.6 2.6L10 3.4" stroke="var(--ink-3)" />
    case 'crashed':
      return <Shape d="M3 3l6 6M9 3l-6 6" stroke="var(--ink)" stroke-width="1.8" />
    case 'lost':
      return <Ring dashed />
  }
}

export function VerdictGlyph({ judged }: { judged: Judged }) {
  if (isOpen(judged)) return <Ring dashed />
  if (hasSomeWait(judged)) return <HalfDiamond />
  return judged.bound === 'compute' ? <Ring /> : <Diamond />
}

export function Diamond() {
  return <Shape d="M6 0l6 6-6 6-6-6z" fill="currentColor" />
}

function HalfDiamond() {
  return (
    <Shape d="M6 1l5 5-5 5-5-5z" stroke="var(--wait)">
      <path d="M6 1l5 5-5 5z" fill="var(--wait)" />
    </Shape>
  )
}

export function Ring({ dashed = false }: { dashed?: boolean }) {
  const dash = dashed ? { 'stroke-dasharray': '2.4 2' } : {}
  return (
    <svg {...GLYPH} aria-hidden="true">
      <circle cx="6" cy="6" r="4.2" fill="none" stroke="currentColor" stroke-width="1.6" {...dash} />
    </svg>
  )
}

/** A path, and what lies over it. */
function Shape({ children, ...path }: ComponentProps<'path'>) {
  return (
    <svg {...GLYPH} aria-hidden="true">
      <path fill="none" stroke-width="1.6" {...path} />
      {children}
    </svg>
  )
}

interface VerdictWordProps {
  judged: Judged
  class?: string
  /** Said instead, where there is room for one. */
  word?: string | null | undefined
  children?: ComponentChildren
}

/** A verdict as word, shape and tone, and details beside it. */
export function VerdictWord({ judged, class: name = '', word, children }: VerdictWordProps) {
  return (
    <span class={`with-glyph ${name} ${verdictTone(judged)}`} title={judged.no_loader ?? undefined}>
      <VerdictGlyph judged={judged} />
      {word ?? verdictWord(judged)}
      {children}
    </span>
  )
}
