/** One run in the table. It reads its own signal: a live run redraws its own row and no other. */
import type { Signal } from '@preact/signals'
import { serviceNow } from '../api/client'
import type { RunSummary } from '../api/names'
import { sparkPath } from '../charts/spark'
import {
  formatAgeCell,
  formatDay,
  formatDuration,
  formatFactor,
  formatFraction,
  formatHoursCell,
  NOT_MEASURED,
} from '../format'
import { runHref, withQuery } from '../router'
import { mayChange } from '../store/actions'
import { isSelected, select } from '../store/selection'
import { actions, causeWord, runs, statusWord } from '../text'
import { verdictTone, verdictWord } from '../verdict'
import { ageS } from './age'
import { StatusGlyph, VerdictGlyph } from './Glyph'

/** From here on a run's loss is set in bold: it is worth somebody's morning. */
const HEAVY_HOURS = 20
const SPARK = { width: 88, height: 20 }

interface RunRowProps {
  row: Signal<RunSummary>
  query: URLSearchParams
  index: number
}

export function RunRow({ row, query, index }: RunRowProps) {
  const run = row.value
  const heavy = (run.hours_lost ?? 0) >= HEAVY_HOURS
  return (
    <tr aria-rowindex={index + 2} class={isSelected(run.run_id) ? 'ticked' : ''}>
      <td class="tick not-narrow">
        {mayChange.value && (
          <input
            type="checkbox"
            aria-label={actions.select(run.name)}
            checked={isSelected(run.run_id)}
            onChange={event => select([run.run_id], event.currentTarget.checked)}
          />
        )}
      </td>
      <td class="name-cell">
        <a class="run-name" href={runHref(run.run_id)}>
          {run.name}
        </a>
        <Tags run={run} query={query} />
        {run.archived_at !== null && <small class="faint"> {actions.isArchived}</small>}
        <span class="narrow-only second-line">
          <Verdict run={run} isShort /> · {statusWord[run.status]} {formatAgeCell(ageS(run))}
        </span>
      </td>
      <td class="not-narrow">
        <span class="with-glyph quiet">
          <StatusGlyph status={run.status} />
          {statusWord[run.status]} <span class="faint">{formatAgeCell(ageS(run))}</span>
        </span>
      </td>
      <td class="not-narrow">
        <Verdict run={run} />
      </td>
      <td>
        <Wait fraction={run.data_stall_fraction} />
      </td>
      <td class="roomy">
        <SparkCell run={run} />
      </td>
      <td class={`figure not-narrow ${heavy ? 'strong' : ''}`}>{formatHoursCell(run.hours_lost)}</td>
      <td class="figure roomy">
        <Gain run={run} />
      </td>
      <td class="figure roomy">{formatDuration(run.step_us)}</td>
      <td class="figure widest">{run.num_workers ?? NOT_MEASURED}</td>
      <td class="figure wide">{run.gpus ?? NOT_MEASURED}</td>
      <td class="wide apart">{hosts(run.hostnames)}</td>
      <td class="widest">{run.user}</td>
      <td class="figure widest faint">{formatDay(new Date(run.started_at), new Date(serviceNow()))}</td>
    </tr>
  )
}

/** A cell has room for two; the run's own page names them all. */
function hosts(names: readonly string[]): string {
  const more = names.length - 2
  return names.slice(0, 2).join(', ') + (more > 0 ? ` +${more}` : '')
}

function Verdict({ run, isShort = false }: { run: RunSummary; isShort?: boolean }) {
  const word = verdictWord(run, run.status)
  return (
    <span class={`with-glyph verdict-word ${verdictTone(run)}`} title={run.no_loader ?? undefined}>
      <VerdictGlyph judged={run} />
      {word} {run.cause && !isShort && <small class="faint">{causeWord[run.cause]}</small>}
    </span>
  )
}

function Tags({ run, query }: { run: RunSummary; query: URLSearchParams }) {
  return (
    <span class="tags wide">
      {Object.entries(run.tags).map(([key, value]) => {
        const tag = value ? `${key}=${value}` : key
        return (
          <a key={key} class="tag" href={`/${withQuery(query, { tag })}`} aria-label={runs.filterTag(tag)}>
            {tag}
          </a>
        )
      })}
    </span>
  )
}

function Wait({ fraction }: { fraction: number | null }) {
  if (fraction === null) return <span class="faint">{NOT_MEASURED}</span>
  return (
    <div class="wait-bar">
      <span>{formatFraction(fraction)}</span>
      <i aria-hidden="true">
        <b class={fraction < 0.05 ? 'slight' : ''} style={{ width: `${fraction * 100}%` }} />
      </i>
    </div>
  )
}

function SparkCell({ run }: { run: RunSummary }) {
  if (!run.spark.some(value => value !== null)) return null
  const { line, area } = sparkPath(run.spark, SPARK.width, SPARK.height)
  const isLoud = run.status === 'running' && run.bound === 'data'
  return (
    <svg class={`spark ${isLoud ? 'loud' : ''}`} width="92" height="24" aria-hidden="true">
      <path class="ground" d={`M0,${SPARK.height + 0.5}H${SPARK.width}`} />
      <path class="area" d={area} />
      <path class="line" d={line} />
    </svg>
  )
}

function Gain({ run }: { run: RunSummary }) {
  const predicted = run.best_advice?.predicted_speedup ?? null
  if (run.observed_speedup !== null)
    return <span class="gained">{runs.gained(formatFactor(run.observed_speedup))}</span>
  return predicted === null ? <span class="faint">{NOT_MEASURED}</span> : <b>{formatFactor(predicted)}</b>
}
