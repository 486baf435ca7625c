/** The cells of the runs table that are more than a word: the wait and its last hour, what a fix gains. */
import type { RunSummary } from '../../api/schema'
import { sparkPath } from '../../charts/spark'
import { formatFactor, formatFraction, formatSetting, NOT_MEASURED } from '../../format'
import { gainOf, isOfOneLoop, runGainOf } from '../../gain'
import { runs as say } from '../../text/runs'
import { useRuns } from '../parts/stores'
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

/** A long text is cut by its cell, and whole in its title. */
export function ConfigCell({ run, name }: { run: RunSummary; name: string }) {
  const value = useRuns().config.value[run.run_id]?.[name]
  if (value === undefined) return <span class="faint">{NOT_MEASURED}</span>
  const words = formatSetting(value)
  return <span title={words}>{words}</span>
}

export function Gain({ run: { best_advice: best, observed_speedup: observed } }: { run: RunSummary }) {
  if (observed !== null)
    return (
      <span class="gained" title={say.gained(formatFactor(observed))}>
        <span class="visually-hidden">{say.gainedWord}</span>
        <span aria-hidden="true">✓</span> {formatFactor(observed)}
      </span>
    )
  if (!best) return <span class="faint">{NOT_MEASURED}</span>
  const gain = runGainOf(best)
  return (
    <div class="fix-cell" title={fixInWords(best)}>
      {gain === null ? <span class="faint">{say.tryIt}</span> : <b class="strong">{gain}</b>}
      <small class="cut">
        {isOfOneLoop(best) ? say.changeOf(best.change_label ?? '', best.loader ?? '') : best.change_label}
      </small>
    </div>
  )
}

/** Whose gain it is, and what that makes of the run. */
function fixInWords(best: NonNullable<RunSummary['best_advice']>): string {
  const [change, gain, ofRun] = [best.change_label ?? best.change, gainOf(best), runGainOf(best)]
  if (gain === null || ofRun === null) return say.toTry(change)
  return isOfOneLoop(best) ? say.fixOfLoop(change, best.loader ?? '', gain, ofRun) : say.fix(change, gain)
}
