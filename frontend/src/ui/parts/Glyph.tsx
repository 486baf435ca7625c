/** Status and verdict as shapes: they are told apart without colour. */
import type { ComponentChildren } from 'preact'
import type { RunSummary } from '../../api/schema'
import { hasSomeWait, isOpen, type Judged } from '../../verdict'

function Shape({ beats = false, children }: { beats?: boolean; children: ComponentChildren }) {
  return (
    <svg
      width="12"
      height="12"
      viewBox="0 0 12 12"
      class={`glyph ${beats ? 'beating' : ''}`}
      aria-hidden="true"
    >
      {children}
    </svg>
  )
}

function Line({ d, stroke, width = 1.6 }: { d: string; stroke: string; width?: number }) {
  return <path d={d} fill="none" stroke={`var(--${stroke})`} stroke-width={width} />
}

export function StatusGlyph({ status }: Pick<RunSummary, 'status'>) {
  if (status === 'lost') return <Ring dashed />
  return (
    <Shape beats={status === 'running'}>
      {status === 'running' && <circle cx="6" cy="6" r="4" fill="var(--good)" />}
      {status === 'finished' && <Line d="M2 6.5l2.6 2.6L10 3.4" stroke="ink-3" />}
      {status === 'crashed' && <Line d="M3 3l6 6M9 3l-6 6" stroke="ink" width={1.8} />}
    </Shape>
  )
}

export function VerdictGlyph({ judged }: { judged: Judged }) {
  if (isOpen(judged)) return <Ring dashed />
  if (hasSomeWait(judged)) return <HalfDiamond />
  return judged.bound === 'compute' ? <Ring /> : <Diamond />
}

export function Diamond() {
  return (
    <Shape>
      <path d="M6 0l6 6-6 6-6-6z" fill="currentColor" />
    </Shape>
  )
}

function HalfDiamond() {
  return (
    <Shape>
      <Line d="M6 1l5 5-5 5-5-5z" stroke="wait" />
      <path d="M6 1l5 5-5 5z" fill="var(--wait)" />
    </Shape>
  )
}

export function Ring({ dashed = false }: { dashed?: boolean }) {
  const dash = dashed ? { 'stroke-dasharray': '2.4 2' } : {}
  return (
    <Shape>
      <circle cx="6" cy="6" r="4.2" fill="none" stroke="currentColor" stroke-width="1.6" {...dash} />
    </Shape>
  )
}
