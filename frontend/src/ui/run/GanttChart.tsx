/** The timeline itself: zoomed and moved by keys, a stretch of it chosen by dragging, and walked through batch by batch. */
import { useSignal } from '@preact/signals'
import type { TargetedPointerEvent } from 'preact'
import { useMemo, useRef } from 'preact/hooks'
import type { TimelineBatch, TimelineStep } from '../../api/schema'
import { type Gantt, gantt, newestOf, type Stretch, targetAt, wholeOf } from '../../charts/gantt'
import { DRAG_PX } from '../../charts/pointing'
import { gantt as say } from '../../text/charts'
import { Chart, scaleUnder } from '../parts/Chart'

const NARROWEST_US = 20_000

export type Pointed = TimelineBatch | TimelineStep | null

interface GanttChartProps {
  data: Gantt
  label: string
  /** What is said of the chosen stretch, else of what is pointed at. */
  readout(selected: Stretch | null, pointed: Pointed): string
}

export function GanttChart({ data: newest, label, readout }: GanttChartProps) {
  /** `null`: the newest steps, following new data. */
  const view = useSignal<Stretch | null>(null)
  const selected = useSignal<Stretch | null>(null)
  /** By the keyboard. */
  const chosen = useSignal<TimelineBatch | null>(null)
  const pointed = useSignal<Pointed>(null)
  const drag = useRef<{ x: number; us: number } | null>(null)
  const shown = useRef(newest)
  // While the reader looks at a part, it does not move.
  if (!view.value && !selected.value && !chosen.value) shown.current = newest
  const data = shown.current
  const { fromUs, toUs } = view.value ?? newestOf(data)
  const drawn = useMemo(
    () => gantt(data, { view: { fromUs, toUs }, selected: selected.value, pointed: chosen.value }),
    [data, fromUs, toUs, selected.value, chosen.value],
  )

  function show(from: number, to: number): void {
    const whole = wholeOf(data)
    const span = Math.max(NARROWEST_US, Math.min(whole.toUs - whole.fromUs, to - from))
    const start = Math.max(whole.fromUs, Math.min(whole.toUs - span, from))
    view.value = { fromUs: start, toUs: start + span }
  }
  /** A factor below 1 zooms in. */
  function zoom(factor: number): void {
    const [middle, half] = [(fromUs + toUs) / 2, ((toUs - fromUs) * factor) / 2]
    show(middle - half, middle + half)
  }
  /** By shares of what is visible. */
  function pan(share: number): void {
    show(fromUs + share * (toUs - fromUs), toUs + share * (toUs - fromUs))
  }
  function fit(): void {
    view.value = wholeOf(data)
    chosen.value = null
    selected.value = null
  }
  /** Points at the batch whose loading began next, or before. */
  function step(by: 1 | -1): void {
    const batches = data.timeline.batches.toSorted((a, b) => a.start_us - b.start_us)
    const here = chosen.value ? batches.indexOf(chosen.value) + by : by > 0 ? 0 : batches.length - 1
    const batch = batches[Math.max(0, Math.min(batches.length - 1, here))] ?? null
    chosen.value = batch
    pointed.value = batch
    const half = (toUs - fromUs) / 2
    if (batch && (batch.start_us < fromUs || batch.start_us > toUs))
      show(batch.start_us - half, batch.start_us + half)
  }
  const keys: Record<string, () => void> = {
    w: () => zoom(0.7),
    s: () => zoom(1 / 0.7),
    a: () => pan(-0.2),
    d: () => pan(0.2),
    f: fit,
    '.': () => step(1),
    ',': () => step(-1),
  }
  function press(event: KeyboardEvent): void {
    const action = keys[event.key]
    if (!action || event.ctrlKey || event.metaKey || event.altKey) return
    event.preventDefault()
    action()
  }

  type Pointing = TargetedPointerEvent<HTMLDivElement>
  /** The instant under the pointer, limited to what is visible. */
  function instant(event: Pointing): number {
    const { left, right, at } = scaleUnder(drawn, event)
    return at(Math.max(left, Math.min(right, event.offsetX))) ?? 0
  }
  function begin(event: Pointing): void {
    if (event.offsetX < scaleUnder(drawn, event).left || event.button !== 0) return
    ;(event.target as Element).setPointerCapture(event.pointerId)
    drag.current = { x: event.offsetX, us: instant(event) }
    selected.value = null
  }
  function move(event: Pointing): void {
    const from = drag.current
    if (!from) pointed.value = targetAt(data, scaleUnder(drawn, event), event.offsetX, event.offsetY)
    else if (Math.abs(event.offsetX - from.x) >= DRAG_PX) {
      const here = instant(event)
      selected.value = { fromUs: Math.min(from.us, here), toUs: Math.max(from.us, here) }
    }
  }
  return (
    <>
      {/* biome-ignore lint/a11y/useSemanticElements: no element means "keys move what is drawn here" */}
      <div
        class="gantt"
        role="group"
        aria-label={label}
        // biome-ignore lint/a11y/noNoninteractiveTabindex: its keys zoom and pan
        tabIndex={0}
        onKeyDown={press}
      >
        <Chart
          drawn={drawn}
          label={say.split}
          onPointerDown={begin}
          onPointerMove={move}
          onPointerUp={() => (drag.current = null)}
          onPointerLeave={() => (pointed.value = null)}
        />
      </div>
      <p class="detail readout" aria-live="polite">
        {readout(selected.value, pointed.value)}
      </p>
    </>
  )
}
