/** Tags of the chosen runs: taken away from all, added to all. */
import { useSignal } from '@preact/signals'
import { useEffect, useRef } from 'preact/hooks'
import { formatTag } from '../../format'
import { retag } from '../../store/actions'
import { rows } from '../../store/runs'
import { actions as say, text } from '../../text'
import { tagsOf } from '../parts/tags'

interface TagProps {
  ids: readonly string[]
  onClose(): void
}

export function TagDialog({ ids, onClose }: TagProps) {
  const dialog = useRef<HTMLDialogElement>(null)
  const removed = useSignal<ReadonlySet<string>>(new Set())
  const typed = useSignal('')
  const had = tagsHad(ids)
  useEffect(() => dialog.current?.showModal(), [])

  function onSubmit(event: Event): void {
    event.preventDefault()
    dialog.current?.close()
    void retag(ids, tagsOf(typed.value), [...removed.value])
  }
  function toggle(key: string): void {
    const next = new Set(removed.value)
    if (!next.delete(key)) next.add(key)
    removed.value = next
  }
  const hasChange = removed.value.size > 0 || Object.keys(tagsOf(typed.value)).length > 0
  return (
    <dialog ref={dialog} class="dialog" aria-labelledby="tag-title" onClose={onClose}>
      <h2 id="tag-title">{say.tagTitle(ids.length)}</h2>
      <form class="tagging" onSubmit={onSubmit}>
        {had.length > 0 && (
          <ul class="chips" aria-label={say.tagsHad}>
            {had.map(({ key, words, count }) => (
              <li key={key}>
                <button
                  type="button"
                  class="chip"
                  aria-pressed={removed.value.has(key)}
                  aria-label={say.tagRemove(words)}
                  onClick={() => toggle(key)}
                >
                  {words} {count < ids.length && <small class="faint">{say.tagOn(count, ids.length)}</small>}{' '}
                  <span aria-hidden="true">×</span>
                </button>
              </li>
            ))}
          </ul>
        )}
        <label>
          <span>{say.tagAdd}</span>
          <input
            type="text"
            placeholder={say.tagHint}
            maxLength={1_000}
            autocomplete="off"
            spellcheck={false}
            value={typed.value}
            onInput={event => (typed.value = event.currentTarget.value)}
          />
        </label>
        <p class="keeping-actions">
          <button type="submit" class="button primary" disabled={!hasChange}>
            {say.tagSave}
          </button>
          <button type="button" class="button plain" onClick={() => dialog.current?.close()}>
            {text.close}
          </button>
        </p>
      </form>
    </dialog>
  )
}

/** By key, with its value where all agree on one, and how many runs have it. */
function tagsHad(ids: readonly string[]) {
  const found = new Map<string, { values: Set<string>; count: number }>()
  for (const [key, value] of ids.flatMap(id => Object.entries(rows.get(id)?.value.tags ?? {}))) {
    const tag = found.get(key) ?? { values: new Set(), count: 0 }
    tag.values.add(value)
    tag.count += 1
    found.set(key, tag)
  }
  return [...found].map(([key, { values, count }]) => {
    const value = values.size === 1 ? [...values][0] : '…'
    return { key, count, words: formatTag(key, value ?? '') }
  })
}
