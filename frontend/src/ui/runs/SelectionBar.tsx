/** What can be done to the runs that were ticked. */
import { useSignal } from '@preact/signals'
import { useLayoutEffect } from 'preact/hooks'
import { navigate } from '../../router'
import { bind } from '../../shortcuts'
import { archive, remove, unarchive } from '../../store/actions'
import { compareHref, MOST_COMPARED } from '../../store/compare'
import type { RunsQuery } from '../../store/query'
import { counts, isPartial, order, readRest, rows } from '../../store/runs'
import { clearSelection, select, selected } from '../../store/selection'
import { compare as comparing, actions as say } from '../../text'
import { TagDialog } from './TagDialog'

export function SelectionBar({ asking }: { asking: RunsQuery }) {
  const ids = selected.value
  if (ids.length === 0) return null
  return <Bar ids={ids} asking={asking} />
}

function Bar({ ids, asking }: { ids: readonly string[]; asking: RunsQuery }) {
  const isTagging = useSignal(false)
  const whyNot = whyNotCompared(ids)
  const compare = () => whyNot === null && navigate(compareHref(ids))
  useLayoutEffect(() => bind({ Escape: clearSelection, c: compare }), [ids])
  const away = ids.filter(id => rows.get(id)?.value.archived_at)
  const listed = ids.filter(id => !rows.get(id)?.value.archived_at)
  return (
    <section class="selection" aria-label={say.selection}>
      <b>{say.selected(ids.length)}</b>
      {ids.length === order.value.length && isPartial.value && (
        <button type="button" class="button small" onClick={() => void selectEvery()}>
          {say.selectEvery(counts.value?.[asking.status ?? 'all'] ?? 0)}
        </button>
      )}
      <button type="button" class="button primary" aria-disabled={whyNot !== null} onClick={compare}>
        {comparing.selected} <kbd>c</kbd>
      </button>
      {whyNot && <span class="detail">{whyNot}</span>}
      <button type="button" class="button" onClick={() => (isTagging.value = true)}>
        {say.tag}
      </button>
      {listed.length > 0 && (
        <button type="button" class="button" onClick={() => void archive(listed)}>
          {say.archive}
        </button>
      )}
      {away.length > 0 && (
        <button type="button" class="button" onClick={() => void unarchive(away)}>
          {say.unarchive}
        </button>
      )}
      <button type="button" class="button" onClick={() => void remove(ids)}>
        {say.delete}
      </button>
      <button type="button" class="button plain" onClick={clearSelection}>
        {say.clear} <kbd>Esc</kbd>
      </button>
      {isTagging.value && <TagDialog ids={ids} onClose={() => (isTagging.value = false)} />}
    </section>
  )
}

/** Also those that scrolling has not yet read. */
async function selectEvery(): Promise<void> {
  await readRest()
  select(order.value, true)
}

function whyNotCompared({ length }: readonly string[]): string | null {
  if (length < 2) return comparing.tooFew
  return length > MOST_COMPARED ? comparing.tooMany : null
}
