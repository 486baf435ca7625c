/** Charts over one axis below one another, with one crosshair through all of them and what it stands on in words. */
import { signal } from '@preact/signals'
import type { ComponentChildren } from 'preact'
import { useMemo } from 'preact/hooks'
import type { Axis } from '../../charts/axes'
import { bucketAt } from '../../charts/columns'
import { type Quantity, readoutAt, type ShownChart } from '../../charts/declared/declaration'
import { type Drawn, mountDrawn } from '../../charts/mount'
import { type Block, chart, heading, paragraph } from '../../charts/picture'
import type { Crosshair } from '../../charts/pointing'
import { asSentence } from '../../format'
import { charts as say, text } from '../../text'
import { Chart } from './Chart'

interface ChartGroupProps {
  charts: readonly ShownChart[]
  /** What is read out, of all charts. */
  quantities: readonly Quantity[]
  across: Axis
  /** Ascending positions at which the arrow keys stop. */
  at: readonly number[]
  /** A position in words, as it begins the readout. */
  told(at: number): string
  /** In place of the readout while nobody points. */
  otherwise: ComponentChildren
  /** Between the readout and the charts. */
  notes?: ComponentChildren
  /** The reader dragged from one position to another; must not change while mounted. */
  onZoom?: ((from: number, to: number) => void) | undefined
}

export function ChartGroup(props: ChartGroupProps) {
  const { charts, quantities, told, onZoom } = props
  const crosshair = useMemo(() => signal<number | null>(null), [])
  const mount = useMemo(
    () => (element: HTMLElement, drawn: Drawn) => mountDrawn(element, drawn, { crosshair, onZoom }),
    [crosshair, onZoom],
  )
  const read = (at: number) => readoutAt(quantities, at, told(at))
  return (
    <>
      <Readout crosshair={crosshair} read={read} otherwise={props.otherwise} />
      {props.notes}
      <div class="charts">
        {charts.map((shown, place) => (
          <OneChart key={place} chart={shown} mount={mount} />
        ))}
        <CrosshairSlider crosshair={crosshair} read={read} across={props.across} at={props.at} />
      </div>
    </>
  )
}

/** The same in a picture of the panel. */
export function chartBlocks(charts: readonly ShownChart[]): readonly Block[] {
  return charts.flatMap(({ title, detail, drawn, missing }) => [
    ...(title === null ? [] : [heading(title, detail)]),
    ...(missing === null ? [] : [paragraph(asSentence(missing || text.notMeasured))]),
    ...(drawn ? [chart(drawn)] : []),
  ])
}

interface Pointed {
  crosshair: Crosshair
  read(at: number): string
}

/** With the slider the only part that follows every move of the pointer. */
function Readout({ crosshair, read, otherwise }: Pointed & { otherwise: ComponentChildren }) {
  const at = crosshair.value
  return <p class="detail readout">{at === null ? otherwise : read(at)}</p>
}

/** A quantity that was not measured is not an empty chart: the reason stands in its place. */
function OneChart({
  chart: { title, detail, label, drawn, missing, explanation },
  mount,
}: {
  chart: ShownChart
  mount(element: HTMLElement, drawn: Drawn): ReturnType<typeof mountDrawn>
}) {
  return (
    <div>
      {title !== null && (
        <h3>
          {title} <span>{detail}</span>
        </h3>
      )}
      {missing !== null && <p class="missing">{asSentence(missing || text.notMeasured)}</p>}
      {drawn && <Chart mount={mount} data={drawn} label={label} />}
      {explanation && (
        <details class="disagree">
          <summary>{explanation.summary}</summary>
          <p>{explanation.text}</p>
        </details>
      )}
    </div>
  )
}

/** Positions that one key press passes. */
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

/** The crosshair for the keyboard: a slider over all charts, whose value is what stands under it. */
function CrosshairSlider({ crosshair, read, across, at }: Pointed & { across: Axis; at: readonly number[] }) {
  const here = crosshair.value
  function onKeyDown(event: KeyboardEvent): void {
    const stride = STRIDES[event.key]
    if (stride === undefined) return
    event.preventDefault()
    const newest = at.length - 1
    const index = here === null ? newest : (bucketAt(at, here) ?? 0)
    crosshair.value = at[Math.max(0, Math.min(newest, index + stride))] ?? null
  }
  return (
    <div
      class="crosshair-slider"
      role="slider"
      tabIndex={0}
      aria-label={say.crosshair}
      aria-valuemin={Math.round(across.from)}
      aria-valuemax={Math.round(across.to)}
      aria-valuenow={Math.round(here ?? across.to)}
      aria-valuetext={here === null ? say.newest : read(here)}
      onKeyDown={onKeyDown}
      onBlur={() => {
        crosshair.value = null
      }}
    />
  )
}
