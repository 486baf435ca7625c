/** What can be done to the runs that were ticked. */
import { useLayoutEffect } from 'preact/hooks'
import { bind } from '../shortcuts'
import { archive, remove, unarchive } from '../store/actions'
import { rows } from '../store/runs'
import { clearSelection, selected } from '../store/selection'
import { actions as say } from '../text'

export function SelectionBar() {
  const ids = selected.value
  if (ids.length === 0) return null
  return <Bar ids={ids} />
}

function Bar({ ids }: { ids: readonly string[] }) {
  useLayoutEffect(() => bind({ Escape: clearSelection }), [])
  const away = ids.filter(id => rows.get(id)?.value.archived_at)
  const listed = ids.filter(id => !rows.get(id)?.value.archived_at)
  return (
    <section class="selection" aria-label={say.selection}>
      <b>{say.selected(ids.length)}</b>
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
    </section>
  )
}
