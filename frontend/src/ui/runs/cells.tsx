/** The cells of the runs table that are more than a word: the wait and its last hour, what a fix gains. */
import { serviceNow } from '../../api/client'
import type { RunSummary } from '../../api/schema'
import { sparkPath } from '../../charts/spark'
import { formatDay, formatFactor, formatFraction, formatSetting, NOT_MEASURED } from '../../format'
import { gainOf, isOfOneLoop, runGainOf } from '../../gain'
import { runs as say } from '../../text/runs'
import { useRuns } from '../parts/stores'
import './cells.css'

const SPARK_HEIGHT = 20

/** As the headline of the run has it: of all its loaders. */
export function Wait({
  run: { bound, data_stall_fraction: fraction, copy_fraction: copies = null },
}: {
  run: RunSummary
}) {
  if (fraction === null) return <span class="faint">{NOT_MEASURED}</span>
  // Its loss is another one: the wait for data alone would read as if there were none.
  if (bound === 'transfer')
    return (
      <div class="two-lines" title={say.waitOfCopies(shareOf(copies), formatFraction(fraction))}>
        <span>{say.forCopies(shareOf(copies))}</span>
        <small class="cut faint">{say.forData(formatFraction(fraction))}</small>
      </div>
    )
  return (
    <div class="wait-bar">
      <span>{formatFraction(fraction)}</span>
      <i aria-hidden="true">
        <b class={`filled ${fraction < 0.05 ? 'slight' : ''}`} style={{ width: `${fraction * 100}%` }} />
      </i>
    </div>
  )
}

/** `null`: a verdict of an earlier version did not note it. */
const shareOf = (copies: number | null) => (copies === null ? null : formatFraction(copies))

interface SparkProps {
  values: readonly (number | null)[]
  width?: number
  isLoud?: boolean
  /** Left out: the cells beside it say it. */
  label?: string
}

export function Spark({ values, width = 88, isLoud = false, label }: SparkProps) {
  if (!values.some(value => value !== null)) return null
  const { line, area } = sparkPath(values, width, SPARK_HEIGHT)
  return (
    <svg
      class={`spark ${isLoud ? 'loud' : ''}`}
      width={width + 4}
      height="24"
      role="img"
      aria-label={label}
      aria-hidden={!label}
    >
      <path class="ground" d={`M0,${SPARK_HEIGHT + 0.5}H${width}`} />
      <path class="area" d={area} />
      <path class="line" d={line} />
    </svg>
  )
}

export function Started({ run }: { run: RunSummary }) {
  return <span class="faint">{formatDay(new Date(run.started_at), new Date(serviceNow()))}</span>
}

/** A long text is cut by its cell, and whole in its title. */
export function ConfigCell({ run, name }: { run: RunSummary; name: string }) {
  const value = useRuns().config.value[run.run_id]?.[name]
  if (value === undefined) return <span class="faint">{NOT_MEASURED}</span>
  const words = formatSetting(value)
  return <span title={words}>{words}</span>
}

/** A gain is ticked where no gain at all is outside its interval; what was seen of another run is shown without. */
export function Gain({ run }: { run: RunSummary }) {
  const { best_advice: best, observed_speedup: observed, observed_low: low } = run
  if (observed !== null) {
    const isSure = low != null && low > 1
    return (
      <span
        class={isSure ? 'gained' : 'quiet'}
        title={isSure ? say.gained(formatFactor(observed)) : say.observed(formatFactor(observed))}
      >
        {isSure && <span aria-hidden="true">✓ </span>}
        {isSure ? <span class="visually-hidden">{say.gainedWord}</span> : <small>{say.observedWord}</small>}{' '}
        {formatFactor(observed)}
      </span>
    )
  }
  if (!best) return <span class="faint">{NOT_MEASURED}</span>
  const gain = runGainOf(best)
  return (
    <div class="two-lines fix-cell" title={fixInWords(best)}>
      {gain === null ? <span class="faint">{say.tryIt}</span> : <b class="strong">{gain}</b>}
      <small class="cut">{best.change_label}</small>
    </div>
  )
}

/** Whose gain it is, and what that makes of the run. */
function fixInWords(best: NonNullable<RunSummary['best_advice']>): string {
  const [change, gain, ofRun] = [best.change_label ?? best.change, gainOf(best), runGainOf(best)]
  if (gain === null || ofRun === null) return say.toTry(change)
  return isOfOneLoop(best) ? say.fixOfLoop(change, best.loader ?? '', gain, ofRun) : say.fix(change, gain)
}
