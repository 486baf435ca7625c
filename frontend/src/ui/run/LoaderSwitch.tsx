/**
 * The loaders of a run side by side: what share of it each takes, how much of that is waiting, and what is said of it.
 * Choosing one shows its own verdict, advice and charts below.
 */
import type { Diagnosis, LoaderLine } from '../../api/schema'
import { formatFraction, formatHours, formatHoursCell } from '../../format'
import { WHOLE } from '../../store/permalink'
import type { RunStore } from '../../store/run'
import { loaders as say } from '../../text/run'
import { hourNoun } from '../../text/shared'
import { verdictTone, verdictWord } from '../../verdict'
import { VerdictGlyph } from '../parts/Glyph'
import './LoaderSwitch.css'

interface LoaderSwitchProps {
  store: RunStore
  /** The run's own. */
  own: Diagnosis
}

export function LoaderSwitch({ store, own }: LoaderSwitchProps) {
  const chosen = store.selection.value.loader ?? own.loader
  const shown = store.shown.value?.loader ?? own.loader
  return (
    <div class="loader-switch">
      <fieldset>
        <legend class="detail">{isShared(own) ? say.sharing : say.title}</legend>
        {own.loaders.map(line => (
          <Choice
            key={line.loader}
            line={line}
            own={own}
            isChosen={line.loader === chosen}
            // Another loader counts its own steps: a range of the old one means nothing to it.
            onChoose={() => store.select({ loader: line.loader, range: WHOLE })}
          />
        ))}
      </fieldset>
      <p class="remark" role="status">
        {shown !== null && own.loader !== null && shown !== own.loader && say.shown(shown, own.loader)}
      </p>
    </div>
  )
}

/** More than a run has: one loop asks several loaders, and its time is that of each. */
function isShared({ loaders }: Diagnosis): boolean {
  return loaders.reduce((sum, { share_of_run_fraction: share }) => sum + share, 0) > 1.1
}

interface ChoiceProps {
  line: LoaderLine
  own: Diagnosis
  isChosen: boolean
  onChoose(): void
}

/** Radio buttons, which the browser moves through with the arrow keys. */
function Choice({ line, own, isChosen, onChoose }: ChoiceProps) {
  const judged = { ...line, status: own.status }
  return (
    <label class={verdictTone(judged)}>
      <input type="radio" name="loader" class="visually-hidden" checked={isChosen} onChange={onChoose} />
      <VerdictGlyph judged={judged} />
      <b>{line.loader}</b>
      {line.loader === own.loader && <span class="tag">{say.ofRun}</span>}
      <small>{[say.roles[line.role], verdictWord(judged)].filter(Boolean).join(', ')}</small>
      <Share line={line} own={own} />
      <small>{shareOf(line, own)}</small>
    </label>
  )
}

/** What it lost, as hours: these add up to what the run lost. Beside it the share of its loop, where that is a part. */
function shareOf(line: LoaderLine, own: Diagnosis): string {
  const { hours_used: used, gpu_hours_lost: ofGpus } = own
  const share = formatFraction(line.share_of_run_fraction)
  if (line.data_stall_fraction === null || !used) return say.share(share)
  return say.wait(
    formatFraction(line.hours_lost / used),
    formatHoursCell(line.hours_lost),
    formatHours(used, hourNoun(ofGpus !== null)),
    share === formatFraction(1) ? null : share,
  )
}

/** Of the run's whole time what goes to this loader's loop, and of that what is waited for it. */
function Share({ line, own }: Pick<ChoiceProps, 'line' | 'own'>) {
  const share = Math.min(1, line.share_of_run_fraction)
  const lost = own.hours_used ? Math.min(share, line.hours_lost / own.hours_used) : 0
  return (
    <span class="share" aria-hidden="true">
      <i class="lost" style={{ width: percentOf(lost) }} />
      <i style={{ width: percentOf(share - lost) }} />
    </span>
  )
}

function percentOf(fraction: number): string {
  return `${Math.round(fraction * 1_000) / 10}%`
}
