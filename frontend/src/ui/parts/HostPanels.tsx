/** A host over time: who kept its cores busy, memory, disks, networks, and below them the runs on it. */
import type { ComponentChildren } from 'preact'
import { useMemo } from 'preact/hooks'
import type { HostHistory, HostRun } from '../../api/schema'
import { type Axis, gutters } from '../../charts/axes'
import { readoutAt } from '../../charts/declared/declaration'
import { type HostClock, hostCharts } from '../../charts/declared/host'
import { runHref } from '../../router'
import { hostPanels as say } from '../../text/charts'
import { verdictTone, verdictWord } from '../../verdict'
import { ChartPanel } from './ChartPanel'
import './HostPanels.css'

interface HostPanelsProps {
  history: HostHistory
  clock: HostClock
  title: string
  controls?: ComponentChildren
  /** The reader dragged over a span, in seconds of the clock; must not change while mounted. */
  onZoom?(fromS: number, toS: number): void
}

export function HostPanels({ history, clock, title, controls, onZoom }: HostPanelsProps) {
  const set = useMemo(() => hostCharts(history, clock), [history, clock])
  const { at, across, quantities } = set
  const newest = Math.max(0, ...quantities.map(({ values }) => values.findLastIndex(value => value !== null)))
  return (
    <ChartPanel
      set={set}
      title={title}
      name="host"
      controls={controls}
      otherwise={readoutAt(set, at[newest] ?? 0)}
      onZoom={onZoom}
      class="host-panels"
    >
      <Spans runs={history.runs} across={across} originMs={clock.originMs} />
    </ChartPanel>
  )
}

interface SpansProps {
  runs: readonly HostRun[]
  across: Axis
  originMs: number
}

/** Each run from its start to its end, on the time axis of the charts. */
function Spans({ runs, across, originMs }: SpansProps) {
  if (runs.length === 0) return null
  const { left, right } = gutters(innerWidth)
  const place = (at: string) => {
    const atS = (Date.parse(at) - originMs) / 1_000
    return (100 * Math.min(1, Math.max(0, (atS - across.from) / (across.to - across.from)))).toFixed(2)
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
                {run.name} <small>{verdictWord(run)}</small>
              </a>
            </li>
          )
        })}
      </ol>
    </>
  )
}
