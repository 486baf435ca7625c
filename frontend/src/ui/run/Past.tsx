/** What led to this run and what became of it: the tries of its job over time, and who changed what in it. */
import type { ComponentChildren } from 'preact'
import { get, serviceNow } from '../../api/client'
import type { ChangedSetting, HistoryRun } from '../../api/schema'
import {
  formatDay,
  formatEvidence,
  formatFraction,
  formatHoursCell,
  formatNumber,
  formatSetting,
} from '../../format'
import { runHref } from '../../router'
import type { Still } from '../../store/run'
import { audit, history as say } from '../../text/past'
import { AuditList } from '../parts/AuditList'
import { DataTable } from '../parts/DataTable'
import { asTheyAre, type FigureColumn, figuresOf } from '../parts/figures'
import { Panel } from '../parts/Panel'
import { useAnswer } from '../parts/stores'
import './Past.css'

/** Tries come by the hour, and live ones change slowly. */
const REST_MS = 30_000
/** Of what changed between two tries; the rest is counted. */
const CHANGES_SHOWN = 4

export function Past({ run }: { run: Still }) {
  const runId = run.run_id
  const history = useAnswer(
    stop => get('/api/v1/runs/{run_id}/history', { path: { run_id: runId } }, stop),
    [runId],
    { restMs: REST_MS, topics: [`run:${runId}`] },
  )
  const runs = history.value?.runs ?? []
  return (
    <>
      {runs.length > 1 && <Tries runs={runs} runId={runId} />}
      <Panel title={audit.title} isFolded isLazy>
        <AuditList runId={runId} />
      </Panel>
    </>
  )
}

const COLUMNS: readonly FigureColumn<HistoryRun>[] = [
  ...asTheyAre<HistoryRun>('run_id', 'name', 'started_at', 'data_stall_fraction', 'steps_per_s'),
  ...asTheyAre<HistoryRun>('samples_per_s', 'hours_lost', 'gpu_hours_lost'),
  { name: 'changed', value: run => run.changed.map(changeInWords).join('; ') },
]

function Tries({ runs, runId }: { runs: readonly HistoryRun[]; runId: string }) {
  const onGpu = runs.every(run => run.gpu_hours_lost !== null)
  const lost = (run: HistoryRun) => (onGpu ? run.gpu_hours_lost : run.hours_lost)
  const now = new Date(serviceNow())
  const charts = [
    [say.wait, (run: HistoryRun) => run.data_stall_fraction, formatFraction],
    [say.speed, (run: HistoryRun) => run.steps_per_s, formatNumber],
    [onGpu ? say.lostGpu : say.lost, lost, formatHoursCell],
  ] as const
  return (
    <Panel
      title={say.title}
      name="history"
      detail={say.detail(runs.length)}
      isFolded
      figures={{ file: figuresOf(COLUMNS, runs).file }}
    >
      <div class="tries-charts">
        {charts.map(([name, of, format]) => (
          <Line key={name} name={name} runs={runs} runId={runId} of={of} format={format} />
        ))}
      </div>
      <DataTable
        caption={say.title}
        class="tries"
        columns={say.columns(onGpu ? say.lostGpu : say.lost)}
        rows={runs
          .map((run, index) => [
            run.run_id === runId ? (
              <b>
                <span class="mono-name">{run.name}</span> <small>{say.thisRun}</small>
              </b>
            ) : (
              <a class="mono-name" href={runHref(run.run_id)}>
                {run.name}
              </a>
            ),
            formatDay(new Date(run.started_at), now),
            formatFraction(run.data_stall_fraction),
            formatNumber(run.steps_per_s),
            formatHoursCell(lost(run)),
            index === 0 ? <span class="faint">{say.first}</span> : <Changed changed={run.changed} />,
          ])
          .toReversed()}
      />
    </Panel>
  )
}

const SIZE = { width: 280, height: 56, margin: 5 }

interface LineProps {
  name: string
  runs: readonly HistoryRun[]
  runId: string
  of(run: HistoryRun): number | null
  format(value: number | null): string
}

/** From zero up, so that twice as high is twice as much. The table has every figure. */
function Line({ name, runs, runId, of, format }: LineProps) {
  const most = Math.max(...runs.map(run => of(run) ?? 0)) || 1
  const across = (SIZE.width - 2 * SIZE.margin) / Math.max(1, runs.length - 1)
  const points = runs.flatMap((run, index) => {
    const value = of(run)
    if (value === null) return []
    const y = SIZE.margin + (SIZE.height - 2 * SIZE.margin) * (1 - value / most)
    return [{ run, value, x: SIZE.margin + index * across, y }]
  })
  const [first, last] = [points[0], points.at(-1)]
  if (!first || !last) return null
  return (
    <figure>
      <figcaption>
        {name}{' '}
        <span class="quiet">
          {format(first.value)} → {format(last.value)}
        </span>
      </figcaption>
      <svg
        viewBox={`0 0 ${SIZE.width} ${SIZE.height}`}
        role="img"
        aria-label={say.chart(name, format(first.value), format(last.value))}
      >
        <path class="ground" d={`M0,${SIZE.height - SIZE.margin}H${SIZE.width}`} />
        <path class="line" d={`M${points.map(({ x, y }) => `${x.toFixed(1)},${y.toFixed(1)}`).join('L')}`} />
        {points.map(({ run, value, x, y }) => (
          <circle
            key={run.run_id}
            class={run.run_id === runId ? 'own' : ''}
            cx={x.toFixed(1)}
            cy={y.toFixed(1)}
            r={run.run_id === runId ? 4 : 2.5}
          >
            <title>{`${run.name}: ${format(value)}`}</title>
          </circle>
        ))}
      </svg>
    </figure>
  )
}

function Changed({ changed }: { changed: readonly ChangedSetting[] }): ComponentChildren {
  if (changed.length === 0) return <span class="faint">{say.nothing}</span>
  const more = changed.length - CHANGES_SHOWN
  return (
    <span title={changed.map(changeInWords).join('\n')}>
      {changed.slice(0, CHANGES_SHOWN).map((change, index) => (
        <span key={`${change.group} ${change.name}`} class={change.matters ? 'strong' : ''}>
          {index > 0 && ', '}
          {changeInWords(change)}
        </span>
      ))}
      {more > 0 && <span class="faint"> {say.more(more)}</span>}
    </span>
  )
}

function changeInWords({ name, unit, before, after }: ChangedSetting): string {
  return `${name} ${valueInWords(before, unit)} → ${valueInWords(after, unit)}`
}

function valueInWords(value: ChangedSetting['before'], unit: ChangedSetting['unit']): string {
  return typeof value === 'number' && unit !== 'setting'
    ? formatEvidence({ what: '', value, unit })
    : formatSetting(value)
}
