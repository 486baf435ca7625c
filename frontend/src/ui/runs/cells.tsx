/** The cells of the runs table that are more than a word: the wait and its last hour, what a fix gains. */
import type { RunSummary } from '../../api/schema'
import { sparkPath } from '../../charts/spark'
import { formatFactor, formatFraction, NOT_MEASURED } from '../../format'
import { runs as say } from '../../text/runs'
import './cells.css'

const SPARK = { width: 88, height: 20 }

export function Wait({ fraction }: { fraction: number | null }) {
  if (fraction === null) return <span class="faint">{NOT_MEASURED}</span>
  return (
    <div class="wait-bar">
      <span>{formatFraction(fraction)}</span>
      <i aria-hidden="true">
        <b class={`filled ${fraction < 0.05 ? 'slight' : ''}`} style={{ width: `${fraction * 100}%` }} />
      </i>
    </div>
  )
}

export function SparkCell({ run }: { run: RunSummary }) {
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

export function Gain({ run }: { run: RunSummary }) {
  const predicted = run.best_advice?.predicted_speedup ?? null
  if (run.observed_speedup !== null)
    return (
      <span class="gained" title={say.gained(formatFactor(run.observed_speedup))}>
        <span class="visually-hidden">{say.gainedWord}</span>
        <span aria-hidden="true">✓</span> {formatFactor(run.observed_speedup)}
      </span>
    )
  return predicted === null ? (
    <span class="faint">{NOT_MEASURED}</span>
  ) : (
    <b class="strong">{formatFactor(predicted)}</b>
  )
}
