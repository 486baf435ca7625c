/** What to do, the largest gain first and open; and what would not help, with the reason. */

import type { Advice, Diagnosis, Evidence, Refusal } from '../../api/schema'
import { formatDuration, formatEvidence, formatFactor, formatFactors } from '../../format'
import {
  besideFirst,
  besideOf,
  isOfOneLoop,
  runCeiling,
  runFactors,
  runGainOf,
  waitedFor,
  withoutWaits,
} from '../../gain'
import type { Still } from '../../store/run'
import { advice as say } from '../../text/run'
import { isOpen } from '../../verdict'
import { errorLine, errorPlace } from '../parts/Banner'
import { Snippet } from '../parts/CopyButton'
import { isNarrow } from '../parts/media'
import { memo } from '../parts/memo'
import { Panel } from '../parts/Panel'
import { place, RangeLine } from '../parts/RangeLine'
import { Sentences } from '../parts/Sentences'
import { Diff } from './Diff'
import { fixId } from './fixId'
import './AdviceList.css'

export function AdviceList({ run, diagnosis }: { run: Still; diagnosis: Diagnosis }) {
  const { advice, refusals } = diagnosis
  // Of a run with one loader it needs no name.
  const loaderOf = (one: Advice) => (run.loaders.length > 1 ? (one.loader ?? null) : null)
  const beside = <Beside diagnosis={diagnosis} />
  const isBesideFirst = besideFirst(diagnosis) !== null
  const crash = run.status === 'crashed' ? (run.exit_reason ?? null) : null
  return (
    <Panel title={say.title} class="advice">
      {crash !== null && <Crash error={crash} />}
      {diagnosis.to_write && <ToWrite found={diagnosis.to_write} />}
      {advice.length === 0 && !diagnosis.beside_loader && !diagnosis.to_write && (
        <None diagnosis={diagnosis} run={run} />
      )}
      {isBesideFirst && beside}
      {advice.map((one, index) => (
        <Card
          key={`${one.change}=${String(one.to)}`}
          advice={one}
          index={index}
          isFirst={index === 0 && !isBesideFirst && crash === null && !diagnosis.to_write}
          loader={loaderOf(one)}
        />
      ))}
      {!isBesideFirst && beside}
      {advice.length > 0 && <CeilingNote diagnosis={diagnosis} />}
      {refusals.length > 0 && (
        <details class="refusals">
          <summary>
            <h3>{say.refusals}</h3> <span class="detail">{refusals.length}</span>
          </summary>
          {refusals.map(refusal => (
            <Refused key={refusal.change} refusal={refusal} />
          ))}
        </details>
      )}
    </Panel>
  )
}

function None({ diagnosis, run }: { diagnosis: Diagnosis; run: Still }) {
  const isUndecided = isOpen(diagnosis)
  const isWell = diagnosis.level === 'healthy' && diagnosis.bound !== 'transfer'
  const yet = [say.noneYet, run.status === 'running' ? say.noneYetDetail : null]
  const judged = isWell ? [say.none, say.noneDetail] : [say.noneFound, say.noneFoundDetail]
  const [title, detail] = isUndecided ? yet : judged
  return (
    <div class="fix">
      <h3>{title}</h3>
      {detail && <p>{detail}</p>}
    </div>
  )
}

/** What ended the run comes before what slowed it down. */
function Crash({ error }: { error: string }) {
  const place = errorPlace(error)
  return (
    <div class="fix">
      <h3>{say.crash}</h3>
      <p>
        <code class="error-cause">{errorLine(error)}</code>
      </p>
      {place !== null && <p>{say.crashedAt(place.file, place.line, place.scope)}</p>}
    </div>
  )
}

/** What a run that tuned itself kept: without it the next one begins as slowly. */
function ToWrite({ found: { title, gain, detail, lines } }: { found: NonNullable<Diagnosis['to_write']> }) {
  return (
    <div class="fix">
      <div class="beside-head">
        <h3>{title}</h3>
        <span class="gain">{gain}</span>
      </div>
      <p>{detail}</p>
      <Snippet code={lines.join('\n')} />
    </div>
  )
}

/** What is to be done outside the loader. */
function Beside({ diagnosis }: { diagnosis: Diagnosis }) {
  return (
    <>
      {besideOf(diagnosis).map(({ title, detail, speedup }) => (
        <div key={title} class="fix">
          <div class="beside-head">
            <h3>
              <Sentences text={title} />
            </h3>
            {speedup === null ? (
              <span class="detail">{say.gainUnknown}</span>
            ) : (
              <span class="gain">{say.atMost(formatFactor(speedup))}</span>
            )}
          </div>
          {speedup !== null && <p class="detail">{say.forTheRun}</p>}
          {detail !== '' && (
            <p>
              <Sentences text={detail} />
            </p>
          )}
        </div>
      ))}
    </>
  )
}

const Card = memo(AdviceCard)

interface CardProps {
  advice: Advice
  index: number
  /** What to do first, which is open; not of a run where that lies outside. */
  isFirst: boolean
  loader: string | null
}

function AdviceCard({ advice, index, isFirst, loader }: CardProps) {
  const isUppermost = index === 0
  return (
    <details id={fixId(index)} class={`fix ${isFirst ? 'first' : ''}`} open={isFirst} data-fix={index + 1}>
      <summary>
        <h3>{advice.title}</h3>
        <Gain advice={advice} />
        <OfLoop advice={advice} loader={loader} />
      </summary>
      <GainRange advice={advice} />
      {advice.changes_batch_order && <p class="badge">{say.order}</p>}
      <p>{advice.why}</p>
      <EvidenceRows evidence={advice.evidence} />
      <Diff advice={advice} shortcut={isUppermost ? 'd' : undefined} />
      {advice.command && <Command code={advice.command} />}
      <Cautions advice={advice} />
    </details>
  )
}

/** What the run may gain as its range; or that it is to be tried, and why. */
function Gain({ advice }: { advice: Advice }) {
  const gain = runGainOf(advice)
  if (gain !== null) return <span class="gain">{gain}</span>
  const { low, high, run_low: runLow = null, run_high: runHigh = null } = advice
  const ofRun = runLow === null || runHigh === null ? null : formatFactors(runLow, runHigh)
  return (
    <span class="to-try">
      <b>{say.tryIt}</b>{' '}
      <span class="detail">
        {low === null || high === null ? say.unpredicted : say.possible(ofRun ?? formatFactors(low, high))}
      </span>
    </span>
  )
}

/** Whose setting it is, in a run with several loaders; and that the gain is the run's, where its loop gains more. */
function OfLoop({ advice, loader }: { advice: Advice; loader: string | null }) {
  const said = [loader === null ? '' : say.ofLoader(loader), isOfOneLoop(advice) ? say.forTheRun : ''].filter(
    Boolean,
  )
  return said.length > 0 ? <span class="of-loader detail">{said.join('; ')}</span> : null
}

/**
 * On a line from "as now" to the ceiling: the point, its interval, and what instant data would gain. That is an estimate
 * too: one within the interval is no ceiling, and is left out.
 */
function GainRange({ advice }: { advice: Advice }) {
  const { gain, low, high } = runFactors(advice)
  if (gain === null || low === null || high === null) return null
  const most = runCeiling(advice)
  const ceiling = most !== null && most >= high ? most : null
  const end = Math.max(ceiling ?? 0, high, gain, 1.05)
  const figures = [low, high].map(factor => factor.toFixed(2)) as [string, string]
  const label = say.rangeLabel(gain.toFixed(2), ...figures, ceiling === null ? '–' : ceiling.toFixed(2))
  return (
    <div class="range faint" role="img" aria-label={label}>
      <RangeLine from={1} to={end} value={gain} low={low} high={high} ceiling={ceiling} />
      <span>{ceiling === null ? '' : say.ceiling(ceiling.toFixed(2))}</span>
      <div class="range-labels">
        <span>{say.asNow}</span>
        <span style={{ left: `clamp(84px, ${place(1, end)((low + high) / 2)}, calc(100% - 36px))` }}>
          {say.interval(...figures)}
        </span>
      </div>
    </div>
  )
}

/** What the change rests on most comes first. On a phone the reason above says it in words. */
const EVIDENCE_SHOWN = { wide: 4, narrow: 0 }

function EvidenceRows({ evidence }: { evidence: readonly Evidence[] }) {
  if (evidence.length === 0) return null
  // One more takes no more room than the line that would say so.
  const most = EVIDENCE_SHOWN[isNarrow.value ? 'narrow' : 'wide']
  const shown = evidence.length <= most + 1 ? evidence.length : most
  const rest = evidence.slice(shown)
  return (
    <>
      {shown > 0 && <Rows evidence={evidence.slice(0, shown)} />}
      {rest.length > 0 && (
        <details class="on-demand">
          <summary class="detail">{say.moreEvidence(rest.length, shown > 0)}</summary>
          <Rows evidence={rest} />
        </details>
      )}
    </>
  )
}

function Rows({ evidence }: { evidence: readonly Evidence[] }) {
  return (
    <dl class="evidence quiet">
      {evidence.map(one => (
        <div key={one.what}>
          <dt>{one.what}</dt>
          <dd>{formatEvidence(one)}</dd>
        </div>
      ))}
    </dl>
  )
}

/** Nobody pastes it on a phone: there it is looked up. */
function Command({ code }: { code: string }) {
  if (isNarrow.value) {
    return (
      <details class="on-demand">
        <summary class="detail">{asTitle(say.command)}</summary>
        <Snippet code={code} />
      </details>
    )
  }
  return (
    <>
      <p>{say.command}</p>
      <Snippet code={code} />
    </>
  )
}

/** Words that lead to what stands beside them, of what is folded below them. */
function asTitle(words: string): string {
  return words.replace(/:$/, '')
}

function Cautions({ advice }: { advice: Advice }) {
  const assumes = advice.predicted_speedup === null ? say.whyUnpredicted : say.assumes
  return (
    <ul class="cautions remark">
      {advice.risk && (
        <li>
          <b class="firm">{say.risk}</b> {advice.risk}
        </li>
      )}
      {advice.assumption && (
        <li>
          {isNarrow.value ? (
            <details>
              <summary class="firm">{asTitle(assumes)}</summary>
              {advice.assumption}
            </details>
          ) : (
            <>
              <b class="firm">{assumes}</b> {advice.assumption}
            </>
          )}
        </li>
      )}
    </ul>
  )
}

function CeilingNote({ diagnosis }: { diagnosis: Diagnosis }) {
  const { steps_per_s: now, loader, loaders } = diagnosis
  const could = withoutWaits(diagnosis)
  if (!now || !could || diagnosis.advice.every(one => one.ceiling === null)) return null
  const formatted = (perS: number) => [formatFactor(perS / now), formatDuration(1e6 / perS)] as const
  const ofLoop = loaders.length > 1 ? loader : null
  return (
    <p class="note">
      <Sentences text={say.ceilingNote(...formatted(could.least), waitedFor(diagnosis), ofLoop)} />
      {could.most !== null && say.shorterRest(...formatted(could.most))}
    </p>
  )
}

const Refused = memo(RefusalRow)

function RefusalRow({ refusal }: { refusal: Refusal }) {
  return (
    <details class="fix refusal">
      <summary>
        <h3>{refusal.title}</h3>
      </summary>
      <p>{refusal.why}</p>
      <EvidenceRows evidence={refusal.evidence} />
    </details>
  )
}
