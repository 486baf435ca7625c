/** Status and verdict as shapes, which differ without colour too. */
import type { RunSummary } from '../../api/schema'
import { hasSomeWait, isOpen, type Judged } from '../../verdict'

const SIZE = { width: 12, height: 12, viewBox: '0 0 12 12', class: 'glyph' } as const

export function StatusGlyph({ status }: Pick<RunSummary, 'status'>) {
  switch (status) {
    case 'running':
      return (
        <svg {...SIZE} class="glyph beating" aria-hidden="true">
          <circle cx="6" cy="6" r="4" fill="var(--good)" />
        </svg>
      )
    case 'finished':
      return (
        <svg {...SIZE} aria-hidden="true">
          <path d="M2 6.5l2.6 2.6L10 3.4" fill="none" stroke="var(--ink-3)" stroke-width="1.6" />
        </svg>
      )
    case 'crashed':
      return (
        <svg {...SIZE} aria-hidden="true">
          <path d="M3 3l6 6M9 3l-6 6" fill="none" stroke="var(--ink)" stroke-width="1.8" />
        </svg>
      )
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
  return (
    <svg {...SIZE} aria-hidden="true">
      <path d="M6 0l6 6-6 6-6-6z" fill="currentColor" />
    </svg>
  )
}

function HalfDiamond() {
  return (
    <svg {...SIZE} aria-hidden="true">
      <path d="M6 1l5 5-5 5-5-5z" fill="none" stroke="var(--wait)" stroke-width="1.6" />
      <path d="M6 1l5 5-5 5z" fill="var(--wait)" />
    </svg>
  )
}

export function Ring({ dashed = false }: { dashed?: boolean }) {
  const dash = dashed ? { 'stroke-dasharray': '2.4 2' } : {}
  return (
    <svg {...SIZE} aria-hidden="true">
      <circle cx="6" cy="6" r="4.2" fill="none" stroke="currentColor" stroke-width="1.6" {...dash} />
    </svg>
  )
}
