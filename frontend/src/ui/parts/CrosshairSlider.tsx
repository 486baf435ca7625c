/** The crosshair for the keyboard: a slider over all charts, whose value is what stands under it. */
import type { Signal } from '@preact/signals'
import type { Crosshair } from '../../charts/crosshair'
import { bucketAt, type StepColumns } from '../../store/columns'
import { charts as say } from '../../text/charts'
import './CrosshairSlider.css'

interface CrosshairSliderProps {
  crosshair: Crosshair
  frame: { fromS: number; toS: number }
  /** Where the keys stop. */
  steps: Pick<StepColumns, 'atS'>
  pointed: Signal<string | null>
}

/** Buckets that one key press passes. */
const STRIDES: Record<string, number> = {
  ArrowLeft: -1,
  ArrowDown: -1,
  ArrowRight: 1,
  ArrowUp: 1,
  PageDown: -20,
  PageUp: 20,
  Home: Number.NEGATIVE_INFINITY,
  End: Number.POSITIVE_INFINITY,
}

export function CrosshairSlider({ crosshair, frame, steps, pointed }: CrosshairSliderProps) {
  function onKeyDown(event: KeyboardEvent): void {
    const stride = STRIDES[event.key]
    if (stride === undefined) return
    event.preventDefault()
    const newest = steps.atS.length - 1
    const here = crosshair.atS === null ? newest : (bucketAt(steps.atS, crosshair.atS) ?? 0)
    crosshair.move(steps.atS[Math.max(0, Math.min(newest, here + stride))] ?? null)
  }
  return (
    <div
      class="crosshair-slider"
      role="slider"
      tabIndex={0}
      aria-label={say.crosshair}
      aria-valuemin={Math.round(frame.fromS)}
      aria-valuemax={Math.round(frame.toS)}
      aria-valuenow={Math.round(crosshair.atS ?? frame.toS)}
      aria-valuetext={pointed.value ?? say.newest}
      onKeyDown={onKeyDown}
      onBlur={() => crosshair.move(null)}
    />
  )
}
