/** The loaders of a run, the costliest of which its verdict is about. Choosing one shows the verdict on it, and its charts. */
import type { Diagnosis, LoaderLine } from '../../api/schema'
import { asSentence, formatFraction } from '../../format'
import { WHOLE } from '../../store/permalink'
import type { RunStore } from '../../store/run'
import { loaders as say } from '../../text/run'
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
        <legend class="detail">{say.title}</legend>
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
        {shown !== null && shown !== own.loader && <OfRun shown={shown} own={own} />}
      </p>
    </div>
  )
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
  const detail = [say.roles[line.role], verdictWord(judged), lostOf(line, own)].filter(Boolean)
  return (
    <label class={verdictTone(judged)}>
      <input type="radio" name="loader" class="visually-hidden" checked={isChosen} onChange={onChoose} />
      <VerdictGlyph judged={judged} />
      <b>{line.loader}</b>
      {line.loader === own.loader && <span class="tag">{say.ofRun}</span>}
      <small>{detail.join(', ')}</small>
    </label>
  )
}

/** `null`: not known before the run has a verdict. */
function lostOf({ hours_lost }: LoaderLine, { hours_used }: Diagnosis): string | null {
  return hours_used ? say.lost(formatFraction(Math.min(1, hours_lost / hours_used))) : null
}

/** What the whole run says, while something else is looked at. */
function OfRun({ shown, own }: { shown: string; own: Diagnosis }) {
  return (
    <>
      {say.shown(shown)} <b class="firm">{own.loader}</b>: {asSentence(own.sentence)}
    </>
  )
}
