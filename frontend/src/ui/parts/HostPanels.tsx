/** A host over time: who kept its cores busy, memory, disks, networks, and below them the runs that were there. */
import { useSignal } from '@preact/signals'
import type { ComponentChildren } from 'preact'
import { useEffect, useMemo } from 'preact/hooks'
import type { HostHistory, HostRun } from '../../api/names'
import { type Crosshair, createCrosshair } from '../../charts/crosshair'
import { gutters } from '../../charts/frame'
import type { TimePanel } from '../../charts/panel'
import { mountTime } from '../../charts/time'
import { asSentence, formatBytes, formatElapsed, formatNumber } from '../../format'
import { runHref } from '../../router'
import { thinned } from '../../store/columns'
import { hostPanels as say } from '../../text/charts'
import { verdictTone, verdictWord } from '../../verdict'
import { Chart } from './Chart'
import { DataTable } from './DataTable'
import { type Axis, type HostCharts, hostCharts, readHostAt, spoken } from './hostCharts'
import { Panel } from './Panel'
import './HostPanels.css'

interface HostPanelsProps {
  history: HostHistory
  axis: Axis
  title: string
  controls?: ComponentChildren
  /** The reader dragged over a span. */
  onZoom?(fromS: number, toS: number): void
}

const ROWS = 24
const CHARTS = ['cores', 'memory', 'disk', 'network'] as const

export function HostPanels({ history, axis, title, controls, onZoom }: HostPanelsProps) {
  const charts = useMemo(() => hostCharts(history, axis), [history, axis])
  const crosshair = useMemo(createCrosshair, [])
  const mount = useMemo(
    () => (element: HTMLElement, panel: TimePanel) =>
      mountTime(element, panel, { crosshair, ...(onZoom && { onZoom }) }),
    [crosshair, onZoom],
  )
  const tell = axis.tick ?? ((atS: number) => formatElapsed(Math.round(atS), charts.toS))
  const details = {
    cores: history.usable_cores === null ? '' : say.ofCores(formatNumber(history.usable_cores)),
    memory: say.ofMemory(formatBytes(history.memory_limit_bytes), formatBytes(history.shm_total_bytes)),
    disk: charts.disk ? say.rate(charts.unit.disk) : '',
    network: charts.network ? say.rate(charts.unit.network) : '',
  }
  return (
    <Panel
      title={title}
      name="host"
      controls={controls}
      table={() => <HostTable charts={charts} tell={tell} />}
      csv={() => ({
        columns: ['at_s', ...charts.columns.map(column => column.metric)],
        rows: charts.atS.map((at, row) => [at, ...charts.columns.map(({ values }) => values[row] ?? null)]),
      })}
      class="host-panels"
    >
      <div class="charts">
        <Pointed charts={charts} crosshair={crosshair} tell={tell} />
        {CHARTS.map(chart => {
          const panel = charts[chart]
          return (
            <div key={chart}>
              <h3>
                {say.chart[chart]} <span>{details[chart]}</span>
              </h3>
              {panel ? (
                <Chart mount={mount} data={panel} label={`${say.chart[chart]}, ${labels(panel)}`} />
              ) : (
                <p class="missing">{asSentence(charts.missing(chart))}</p>
              )}
            </div>
          )
        })}
      </div>
      <Spans runs={history.runs} charts={charts} originMs={axis.originMs} />
    </Panel>
  )
}

function labels(panel: TimePanel): string {
  return panel.layers.map(layer => layer.label).join(', ')
}

/** The line of figures under the pointer, and the slider that moves it for the keyboard. */
function Pointed({
  charts,
  crosshair,
  tell,
}: {
  charts: HostCharts
  crosshair: Crosshair
  tell(atS: number): string
}) {
  const at = useSignal<number | null>(null)
  useEffect(() => crosshair.subscribe(next => (at.value = next)), [crosshair, at])
  const told = readHostAt(charts, at.value ?? charts.atS[charts.newest] ?? 0, tell)
  const step = (charts.toS - charts.fromS) / Math.max(1, charts.atS.length)
  return (
    <>
      <p class="detail readout">{told}</p>
      <input
        class="host-slider"
        type="range"
        aria-label={say.crosshair}
        aria-valuetext={told}
        min={charts.fromS}
        max={charts.toS - step}
        step={step}
        value={at.value ?? charts.toS - step}
        onInput={event => crosshair.move(Number(event.currentTarget.value))}
        onBlur={() => crosshair.move(null)}
      />
    </>
  )
}

function HostTable({ charts, tell }: { charts: HostCharts; tell(atS: number): string }) {
  const rows = thinned(charts.atS.length, ROWS).map(index => [
    tell(charts.atS[index] ?? 0),
    ...charts.columns.map(({ values, format }) => format(values[index] ?? null)),
  ])
  const columns = [say.at, ...charts.columns.map(({ metric }) => spoken(metric))]
  return <DataTable caption={say.history} columns={columns} rows={rows} isNumeric />
}

/** Each run from its start to its end, on the time axis of the charts. */
function Spans({
  runs,
  charts,
  originMs,
}: {
  runs: readonly HostRun[]
  charts: HostCharts
  originMs: number
}) {
  if (runs.length === 0) return null
  const { left, right } = gutters(innerWidth)
  const place = (at: string) => {
    const atS = (Date.parse(at) - originMs) / 1_000
    return (100 * Math.min(1, Math.max(0, (atS - charts.fromS) / (charts.toS - charts.fromS)))).toFixed(2)
  }
  return (
    <>
      <h3>{say.spans}</h3>
      <ol class="spans" style={{ margin: `0 ${right}px 0 ${left}px` }}>
        {runs.map(run => {
          const [from, to] = [Number(place(run.started_at)), Number(place(run.ended_at))]
          const side = from > 60 ? { right: `${100 - to}%` } : { left: `${from}%` }
          return (
            <li key={run.run_id}>
              <i
                class={verdictTone(run)}
                aria-hidden="true"
                style={{ left: `${from}%`, width: `${Math.max(0.3, to - from)}%` }}
              />
              <a href={runHref(run.run_id)} style={side}>
                {run.name} <small>{verdictWord(run, run.status)}</small>
              </a>
            </li>
          )
        })}
      </ol>
    </>
  )
}
