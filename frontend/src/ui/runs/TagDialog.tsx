/** Tags of the selected runs: removed from all, added to all. */
import { useSignal } from '@preact/signals'
import { formatTag } from '../../format'
import { retag } from '../../store/actions'
import type { RunsStore } from '../../store/runs'
import { tagging as say } from '../../text/runs'
import { FormDialog } from '../parts/Dialog'
import { Field } from '../parts/fields'
import { useRuns } from '../parts/stores'
import { tagsOf } from '../parts/tags'

export function TagDialog({ ids, onClose }: { ids: readonly string[]; onClose(): void }) {
  const runs = useRuns()
  const removed = useSignal<ReadonlySet<string>>(new Set())
  const typed = useSignal('')
  const present = tagsOn(runs, ids)

  function toggle(key: string): void {
    const next = new Set(removed.value)
    if (!next.delete(key)) next.add(key)
    removed.value = next
  }
  return (
    <FormDialog
      title={say.title(ids.length)}
      canSave={removed.value.size > 0 || Object.keys(tagsOf(typed.value)).length > 0}
      onSave={() => void retag(runs, ids, tagsOf(typed.value), [...removed.value])}
      onClose={onClose}
    >
      {present.length > 0 && (
        <ul class="chips" aria-label={say.present}>
          {present.map(({ key, words, count }) => (
            <li key={key}>
              <button
                type="button"
                class="chip"
                aria-pressed={removed.value.has(key)}
                aria-label={say.remove(words)}
                onClick={() => toggle(key)}
              >
                {words} {count < ids.length && <small>{say.on(count, ids.length)}</small>}{' '}
                <span aria-hidden="true">×</span>
              </button>
            </li>
          ))}
        </ul>
      )}
      <Field
        label={say.add}
        placeholder={say.hint}
        maxLength={1_000}
        autocomplete="off"
        spellcheck={false}
        value={typed.value}
        onInput={event => (typed.value = event.currentTarget.value)}
      />
    </FormDialog>
  )
}

/** By key, with its value where all agree on one, and how many runs have it. */
function tagsOn({ rows }: RunsStore, ids: readonly string[]) {
  const tags = ids.flatMap(id => Object.entries(rows.get(id)?.value.tags ?? {}))
  return [...Map.groupBy(tags, ([key]) => key)].map(([key, found]) => {
    const values = new Set(found.map(([, value]) => value))
    const value = values.size === 1 ? [...values][0] : '…'
    return { key, count: found.length, words: formatTag(key, value ?? '') }
  })
}
