/** The verdict: a sentence, set as the largest thing on the page, its reason, the step it is about, its cost. */

import type { Diagnosis, Outlook, Run, SharedCause } from '../../api/schema'
import {
  asSentence,
  capital,
  formatAge,
  formatFactor,
  formatFraction,
  formatHours,
  formatNumber,
  formatRange,
} from '../../format'
import { besideFirst, besideOf, firstOf, runGainOf, waitedFor, withoutWaits } from '../../gain'
import { runHref } from '../../router'
import type { Still } from '../../store/run'
import { run as say, advice as sayAdvice, loaders as sayLoaders, shared as sayShared } from '../../text/run'
import { hourNoun, text } from '../../text/shared'
import { isOpen, oneOfSeveral, verdictTone, verdictWord } from '../../verdict'
import { AnatomyBars } from '../parts/AnatomyBars'
import { Snippet } from '../parts/CopyButton'
import { VerdictGlyph } from '../parts/Glyph'
import { Sentences } from '../parts/Sentences'
import { FIXES, fixId } from './fixId'
import './Verdict.css'

interface VerdictProps {
  run: Still & Pick<Run, 'outlook'>
  diagnosis: Diagnosis
  /** `false`: on another of the run's loaders than its own verdict. */
  isOfRun?: boolean
  /** `false`: the fixes below are those of another loader. */
  leadsToFixes?: boolean
}

export function Verdict({ run, diagnosis, isOfRun = true, leadsToFixes = true }: VerdictProps) {
  const isUndecided = isOpen(diagnosis)
  const id = isOfRun ? 'verdict-sentence' : 'loader-verdict-sentence'
  return (
    <section class="verdict" aria-labelledby={id}>
      <div>
        <p class={`kind row ${verdictTone(diagnosis)}`}>
          <VerdictGlyph judged={diagnosis} />
          {capital(verdictWord(diagnosis))}
          {run.no_loader === null && <span>{kindDetail(diagnosis)}</span>}
          {isPartial(run, diagnosis) && <span class="quiet">{say.notFinal}</span>}
        </p>
        <h2 id={id} class="verdict-sentence">
          <Sentences text={diagnosis.sentence} />
        </h2>
        {diagnosis.why && (
          <p class="why">
            <Sentences text={diagnosis.why} />
          </p>
        )}
        {leadsToFixes && <FirstFix diagnosis={diagnosis} />}
        {diagnosis.shared.map(one => (
          <Shared key={one.place} shared={one} runId={run.run_id} />
        ))}
        {diagnosis.reason && (
          <p class={isUndecided ? 'why' : 'reservation faint'}>{asSentence(diagnosis.reason)}</p>
        )}
        {run.no_loader !== null ? (
          <Watchable />
        ) : (
          isUndecided && run.status === 'running' && <Progress diagnosis={diagnosis} />
        )}
        {diagnosis.anatomy && (
          <AnatomyBars
            now={diagnosis.anatomy}
            advice={firstOf(diagnosis.advice)}
            loader={oneOfSeveral(diagnosis)}
          />
        )}
      </div>
      {!isUndecided && (
        <Cost
          outlook={isOfRun ? run.outlook : null}
          diagnosis={diagnosis}
          isOfRun={isOfRun}
          isSoFar={diagnosis.status === 'running' || isPartial(run, diagnosis)}
        />
      )}
    </section>
  )
}

/** Where fixes stand below the fold: what to do, leading there. */
function FirstFix({ diagnosis }: { diagnosis: Diagnosis }) {
  const { advice, to_write: kept = null } = diagnosis
  if (kept)
    return (
      <a class="first-fix framed" href={`#${FIXES}`}>
        <span>{kept.title}</span>
        <b>{kept.gain}</b>
      </a>
    )
  const [beside] = besideFirst(diagnosis) === null ? [] : besideOf(diagnosis)
  const best = beside ? null : firstOf(advice)
  if (!best && !beside) return null
  const loader = oneOfSeveral(diagnosis)
  return (
    <a class="first-fix framed" href={`#${best ? fixId(0) : FIXES}`}>
      <span>
        {best?.title ?? <Sentences text={beside?.title ?? ''} />}
        {best && loader !== null && <small> {sayAdvice.ofLoader(best.loader ?? loader)}</small>}
      </span>
      {best && <b>{runGainOf(best) ?? say.toTry}</b>}
      {beside?.speedup && <b>{sayAdvice.atMost(formatFactor(beside.speedup))}</b>}
    </a>
  )
}

/** The run has ended, and what came last of it is not judged yet. */
function isPartial({ status }: Still, diagnosis: Diagnosis): boolean {
  const { judged_at, is_final } = diagnosis
  return (status === 'finished' || status === 'crashed') && judged_at !== null && !is_final
}

/** More names are no sentence any more. */
const MOST_NAMED = 3

/** Other runs wait for the same: then no setting of this run is the cause. */
function Shared({ shared, runId }: { shared: SharedCause; runId: string }) {
  const others = shared.runs.filter(one => one.run_id !== runId)
  const names = others.map((one, index) => (
    <>
      {index > 0 && ', '}
      <a href={runHref(one.run_id)}>{one.name || one.run_id}</a>
    </>
  ))
  const areMany = others.length > MOST_NAMED
  return (
    <div class="shared quiet">
      {shared.sentence} {sayShared.lost(formatHours(shared.hours_lost, 'hour'))}{' '}
      {!areMany && (
        <>
          {sayShared.others} {names}.
        </>
      )}
      {areMany && (
        <details>
          <summary>{sayShared.manyOthers(others.length)}</summary>
          {names}
        </details>
      )}
    </div>
  )
}

/** What to add to a script whose input is measured only when it is passed to `watch`. */
function Watchable() {
  return (
    <div class="watchable">
      <p class="reservation faint">{say.noLoaderDetail}</p>
      <Snippet code={text.snippet} />
    </div>
  )
}

function kindDetail(diagnosis: Diagnosis): string {
  // What is missing of a run that ended, the reason says.
  if (isOpen(diagnosis)) return diagnosis.status === 'running' ? progressOf(diagnosis) : ''
  const said = diagnosis.confidence ? say.confidence(diagnosis.confidence, basisOf(diagnosis)) : ''
  return [said, say.clock[diagnosis.clock]].filter(Boolean).join(', ')
}

function basisOf(diagnosis: Diagnosis): string {
  const { judged_stall_fraction: share = null, steps, ranks } = diagnosis
  const [all, judged] = [steps, diagnosis.judged_steps].map(formatNumber) as [string, string]
  const of = [oneOfSeveral(diagnosis), ranks.length] as const
  return share === null ? say.fromLast(judged, ...of) : say.overAll(all, ...of, judged, formatFraction(share))
}

function Progress({ diagnosis }: { diagnosis: Diagnosis }) {
  const { steps, needed_steps: needed } = diagnosis
  return (
    <progress
      class="progress"
      value={Math.min(steps, needed)}
      max={needed}
      aria-label={progressOf(diagnosis)}
    />
  )
}

function progressOf({ steps, needed_steps: needed }: Diagnosis): string {
  return say.progress(formatNumber(Math.min(steps, needed)), formatNumber(needed))
}

interface CostProps {
  outlook: Run['outlook']
  diagnosis: Diagnosis
  isOfRun: boolean
  /** More was recorded, or will be, than these figures are of. */
  isSoFar: boolean
}

/** Of what was lost, from which a part is stated as all of it. */
const NEARLY_ALL = 0.99

/** Figures of this run: what was lost, what more will be, how fast it is, what a fix saves. */
function Cost({ outlook, diagnosis, isOfRun, isSoFar }: CostProps) {
  const noun = hourNoun(diagnosis.gpu_hours_lost !== null)
  const lost = diagnosis.gpu_hours_lost ?? diagnosis.hours_lost
  const { now, unit } = rates(diagnosis)
  // Hours of GPUs are what is paid for: they are summed. Other time is stated as it went by.
  const ranks = diagnosis.ranks.length
  const each = ranks > 1 && diagnosis.gpu_hours_lost === null ? ranks : 1
  const paused = pausedShare(diagnosis) ?? 0
  const best = firstOf(diagnosis.advice)
  const fix = best?.title ?? ''
  // One that was judged by an earlier version may have the hours of another fix.
  const saved = best?.is_promised ? diagnosis.hours_saved : null
  const copies = diagnosis.copy_hours_lost ? formatHours(diagnosis.copy_hours_lost, noun) : null
  const loader = isOfRun ? oneOfSeveral(diagnosis) : null
  const since = lostSince(diagnosis)
  const kept = (isOfRun && diagnosis.to_write) || null
  const [action] = isOfRun && !kept && besideFirst(diagnosis) !== null ? besideOf(diagnosis) : []
  const isAllCopies = lost !== null && (diagnosis.copy_hours_lost ?? 0) >= NEARLY_ALL * lost
  return (
    <div class="cost">
      {isOfRun && diagnosis.hours_restarting && (
        <p>
          <b>{formatHours(diagnosis.hours_restarting / each, noun)}</b>
          {each > 1 && say.onEachRank}
          {say.restarting}
        </p>
      )}
      {isOfRun && <Pauses diagnosis={diagnosis} noun={noun} each={each} />}
      {lost !== null && since !== null && (
        <Since diagnosis={diagnosis} since={since} lost={lost} noun={noun} />
      )}
      {lost !== null && since === null && (
        <p>
          <b>{formatHours(lost / each, noun)}</b>
          {say.onEach(each > 1 ? formatHours(lost, noun) : null, ranks)}
          {diagnosis.hours_used !== null &&
            say.lost(
              formatHours(((1 - paused) * diagnosis.hours_used) / each, noun),
              isAllCopies ? say.nearlyAll : copies,
              isSoFar,
              isOfRun,
              say.base(
                { summed: each > 1 ? 1 : ranks },
                diagnosis.loaders.length,
                diagnosis.steps > diagnosis.judged_steps ? formatNumber(diagnosis.steps) : null,
                diagnosis.is_lost_at_start ? formatNumber(diagnosis.warmup_steps) : null,
                shareOfAll(diagnosis, paused),
                paused > 0,
              ),
            )}
        </p>
      )}
      {outlook && diagnosis.bound === 'data' && <Ahead outlook={outlook} noun={noun} fix={fix} />}
      {now !== null && (!outlook?.saved_fraction || diagnosis.replay) && (
        <p>
          <b>{`${formatNumber(now * (1 - paused))} ${unit}`}</b>
          {ranks > 1 && say.onEachRank}
          {loader !== null && say.inLoop(loader, roleOf(loader, diagnosis))}
          {rateDetail(diagnosis, now, paused)}
        </p>
      )}
      {kept && (
        <p>
          <b>{kept.gain}</b>
          {say.kept(kept.title)}
        </p>
      )}
      {!outlook && !kept && saved && (
        <p>
          <b>{formatRange(formatHours(saved.low / each, noun), formatHours(saved.high / each, noun))}</b>
          {each > 1 && say.onEachRank}
          {say.saved(fix)}
        </p>
      )}
      {action?.hours_saved && (
        <p>
          <b>{say.upTo(formatHours(action.hours_saved / each, noun))}</b>
          {each > 1 && say.onEachRank}
          {say.savedAtMost(action.title)}
        </p>
      )}
      {best && !best.is_promised && !kept && besideFirst(diagnosis) === null && (
        <p>
          <b class="try-first">{say.toTry}</b>
          {fix}
        </p>
      )}
    </div>
  )
}

/** Until the last step where that is known, else per further hour. */
function Ahead({ outlook, noun, fix }: { outlook: Outlook; noun: ReturnType<typeof hourNoun>; fix: string }) {
  const { last_step, basis, hours_to_lose, hours_lost_per_hour, left_s, saved_fraction } = outlook
  const { saved_low_fraction: low, saved_high_fraction: high } = outlook
  const isKnown = last_step !== null
  const ends = saved_fraction === null ? [] : [low ?? saved_fraction, high ?? saved_fraction]
  return (
    <>
      <p>
        <b>{formatHours(isKnown ? hours_to_lose : hours_lost_per_hour, noun)}</b>
        {isKnown ? say.ahead(formatNumber(last_step)) : say.aheadAnHour}
        {basis && <small>{basis}</small>}
      </p>
      {ends.length > 0 && (
        <p>
          <b>{ends.map(end => formatAge(end * (left_s ?? 3_600))).reduce(formatRange)}</b>
          {isKnown ? say.sooner(fix) : say.soonerAnHour(fix)}
        </p>
      )}
    </>
  )
}

interface SinceLost {
  from: number
  lost: number
  used: number
}

/** Since the settings are as they are, in hours of all ranks. `null`: since the first step, or the headline is of more. */
function lostSince(diagnosis: Diagnosis): SinceLost | null {
  const { judged_from_step: from = null, loaders, anatomy, bound, ranks } = diagnosis
  const { judged_steps: judged, data_stall_fraction: share } = diagnosis
  if (from === null || loaders.length > 1 || !anatomy || share === null || bound === 'transfer') return null
  const used = (anatomy.step_us * judged * Math.max(1, ranks.length)) / 3.6e9
  return { from, lost: share * used, used }
}

interface SinceProps {
  diagnosis: Diagnosis
  since: SinceLost
  /** By the whole run. */
  lost: number
  noun: ReturnType<typeof hourNoun>
}

function Since({ diagnosis: { judged_steps: judged, steps }, since, lost, noun }: SinceProps) {
  const [from, ofJudged, ofAll] = [since.from, judged, steps].map(formatNumber) as [string, string, string]
  return (
    <p>
      <b>{formatHours(since.lost, noun)}</b>
      {say.lostSince(from, ofJudged, formatHours(since.used, noun), ofAll, formatHours(lost, noun))}
    </p>
  )
}

/** What the headline begins with, where it is more than the waits. */
function Pauses({
  diagnosis,
  noun,
  each,
}: {
  diagnosis: Diagnosis
  noun: ReturnType<typeof hourNoun>
  /** Ranks among which the hours are divided. */
  each: number
}) {
  const { hours_used: used } = diagnosis
  const share = pausedShare(diagnosis)
  if (share === null || !used) return null
  return (
    <p>
      <b>{formatHours((share * used) / each, noun)}</b>
      {say.paused(formatFraction(share), formatHours(used / each, noun))}
    </p>
  )
}

/** Of a run's time, from which what it did beside training is shown. */
const LEAST_PAUSED = 0.05

function pausedShare({ paused_fraction: paused = null, loaders }: Diagnosis): number | null {
  // Known of the judged loop alone.
  return paused === null || paused < LEAST_PAUSED || loaders.length > 1 ? null : paused
}

/** What the loop over it is for. `null`: that is not known. */
function roleOf(loader: string, { loaders }: Diagnosis): string | null {
  const line = loaders.find(one => one.loader === loader)
  return line ? sayLoaders.roles[line.role] : null
}

/** Samples where they were counted, else steps. */
function rates({ steps_per_s, samples_per_s }: Diagnosis) {
  return {
    now: samples_per_s ?? steps_per_s,
    unit: samples_per_s === null ? 'steps/s' : 'samples/s',
  }
}

/** What was lost of all that it is shown beside. `null`: the headline has the same figure, or has none of the copies. */
function shareOfAll(diagnosis: Diagnosis, paused: number): string | null {
  const { hours_lost: lost, hours_used: used, copy_hours_lost: copies } = diagnosis
  const said = diagnosis.headline_stall_fraction ?? diagnosis.data_stall_fraction
  if (said === null || !lost || !used || copies) return null
  const share = formatFraction(Math.min(1, lost / (used * (1 - paused))))
  return share === formatFraction(said) ? null : share
}

/** What the loop would get: as computed, and beside it as a replay measured it. The terminal says the same. */
function rateDetail(diagnosis: Diagnosis, now: number, paused: number): string {
  const { status, steps_per_s, replay } = diagnosis
  const inUnit = (perS: number) => formatNumber((now * perS) / (steps_per_s ?? perS))
  const could = withoutWaits(diagnosis)
  const least = could && inUnit(could.least)
  if (replay) {
    const computed = could && least && could.most !== null ? formatRange(least, inUnit(could.most)) : least
    return say.measuredRate(computed, inUnit(replay.instant_steps_per_s), formatNumber(replay.batches))
  }
  const ideal = least ? say.ideal(least, waitedFor(diagnosis)) : null
  return say.rate(status === 'running', paused > 0 ? formatNumber(now) : null, ideal)
}
