/** A panel of charts over one axis, with one crosshair through all of them and its values in words. */
import { signal } from '@preact/signals'
import type { ComponentChildren } from 'preact'
import { useMemo } from 'preact/hooks'
import { bucketAt } from '../../charts/columns'
import { type ChartSet, readoutAt, type ShownChart } from '../../charts/declared/declaration'
import { type Block, chart, heading, paragraph } from '../../charts/picture'
import { type Crosshair, follow } from '../../charts/pointing'
import type { Surface } from '../../charts/surface'
import type { Table } from '../../csv'
import { asSentence } from '../../format'
import { charts as say } from '../../text/charts'
import { text } from '../../text/shared'
import { Chart } from './Chart'
import './ChartPanel.css'
import { figuresOver, type WordTable } from './figures'
import { Panel } from './Panel'

interface ChartPanelProps {
  set: ChartSet
  title: string
  name: string
  controls?: ComponentChildren
  /** Instead of a column for each quantity. */
  file?: () => Table
  /** Below that of the figures. */
  furtherTable?: WordTable | undefined
  /** Shown instead of the readout while no position is pointed at. */
  otherwise: ComponentChildren
  /** Between the readout and the charts. */
  notes?: ComponentChildren
  /** The reader dragged from one position to another; must not change while mounted. */
  onZoom?: ((from: number, to: number) => void) | undefined
  /** Only the first chart is shown until the others are asked for. */
  isShort?: boolean
  class?: string
  children?: ComponentChildren
}

export function ChartPanel(props: ChartPanelProps) {
  const { set, otherwise, notes, onZoom, children, file, furtherTable, isShort = false, ...panel } = props
  const { charts } = set
  const crosshair = useMemo(() => signal<number | null>(null), [])
  const point = (surface: Surface) => follow(surface, crosshair, onZoom)
  const isDrawn = charts.length > 0
  const figures = figuresOver(set)
  const tables = () => [...figures.tables(), ...(furtherTable ? [furtherTable] : [])]
  return (
    <Panel
      {...panel}
      figures={isDrawn ? { file: file ?? figures.file, tables } : undefined}
      picture={() => charts.flatMap(blocksOf)}
    >
      {isDrawn && <Readout crosshair={crosshair} set={set} otherwise={otherwise} />}
      {notes}
      {isDrawn && (
        <div class="charts">
          <Charts charts={isShort ? charts.slice(0, 1) : charts} follow={point} />
          {isShort && charts.length > 1 && (
            <details class="more-charts">
              <summary class="detail">{say.moreCharts(charts.length - 1)}</summary>
              <Charts charts={charts.slice(1)} follow={point} />
            </details>
          )}
          <CrosshairSlider crosshair={crosshair} set={set} />
        </div>
      )}
      {children}
    </Panel>
  )
}

/** The same in a picture of the panel. */
function blocksOf({ title, detail = '', drawn, missing = null }: ShownChart): readonly Block[] {
  return [
    ...(title ? [heading(title, detail)] : []),
    ...(missing === null ? [] : [paragraph(asSentence(missing || text.notMeasured))]),
    ...(drawn ? [chart(drawn)] : []),
  ]
}

interface Pointed {
  crosshair: Crosshair
  set: ChartSet
}

/** With the slider the only part that follows every move of the pointer. */
function Readout({ crosshair, set, otherwise }: Pointed & { otherwise: ComponentChildren }) {
  const at = crosshair.value
  return <p class="detail readout">{at === null ? otherwise : readoutAt(set, at)}</p>
}

interface ChartsProps {
  charts: readonly ShownChart[]
  follow(surface: Surface): () => void
}

function Charts({ charts, follow }: ChartsProps) {
  return (
    <>
      {charts.map((shown, place) => (
        <OneChart key={place} chart={shown} follow={follow} />
      ))}
    </>
  )
}

/** A quantity that was not measured shows the reason instead of an empty chart. */
function OneChart({ chart, follow }: Pick<ChartsProps, 'follow'> & { chart: ShownChart }) {
  const { title, detail, label, drawn, missing = null, explanation } = chart
  return (
    <div>
      {title && (
        <h3>
          {title} <span>{detail}</span>
        </h3>
      )}
      {missing !== null && <p class="missing">{asSentence(missing || text.notMeasured)}</p>}
      {drawn && <Chart drawn={drawn} label={label} follow={follow} />}
      {explanation && (
        <details class="disagree remark">
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

/** The crosshair for the keyboard: a slider over all charts; its value is what they show there. */
function CrosshairSlider({ crosshair, set }: Pointed) {
  const { across, at } = set
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
      aria-valuetext={here === null ? say.newest : readoutAt(set, here)}
      onKeyDown={onKeyDown}
      onBlur={() => {
        crosshair.value = null
      }}
    />
  )
}
