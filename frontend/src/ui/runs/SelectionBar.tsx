/** What can be done to the runs that were ticked. */
import { useSignal } from '@preact/signals'
import { useLayoutEffect } from 'preact/hooks'
import { navigate } from '../../router'
import { bind } from '../../shortcuts'
import { archive, restore, unarchive } from '../../store/actions'
import { compareHref, MOST_COMPARED } from '../../store/compareHref'
import { listFilter } from '../../store/filter'
import { may, type Power } from '../../store/may'
import type { RunsStore } from '../../store/runs'
import { selecting as say, tagging } from '../../text/runs'
import { actions, comparing } from '../../text/shared'
import { Button } from '../parts/Button'
import { onDemand } from '../parts/onDemand'
import { useRuns } from '../parts/stores'
import { WhyNot } from '../parts/WhyNot'
import './SelectionBar.css'

const DeleteDialog = onDemand(async () => (await import('../parts/DeleteDialog')).DeleteDialog)
const TagDialog = onDemand(async () => (await import('./TagDialog')).TagDialog)

export function SelectionBar() {
  const ids = useRuns().selection.ids.value
  if (ids.length === 0) return null
  return <Bar ids={ids} />
}

function Bar({ ids }: { ids: readonly string[] }) {
  const filter = listFilter.value
  const runs = useRuns()
  const { rows, selection } = runs
  const isTagging = useSignal(false)
  const isDeleting = useSignal(false)
  const whyNot = whyNotCompared(ids)
  const compare = () => whyNot === null && !filter.deleted && navigate(compareHref(ids))
  useLayoutEffect(() => bind('part', { Escape: selection.clear, c: compare }), [ids])
  const mayAll = (power: Power) => ids.every(id => may(power, rows.get(id)?.value.project ?? null))
  const archived = ids.filter(id => rows.get(id)?.value.archived_at)
  const listed = ids.filter(id => !rows.get(id)?.value.archived_at)
  return (
    <section class="foot-bar framed row selection screen-only" aria-label={say.selection}>
      <b class="strong">{say.selected(ids.length)}</b>
      {ids.length === runs.order.value.length && runs.isPartial.value && (
        <Button kind="small" onClick={() => void selectEvery(runs)}>
          {say.selectEvery(runs.counts.value?.[filter.status ?? 'all'] ?? 0)}
        </Button>
      )}
      {filter.deleted ? (
        <Restoring ids={ids} />
      ) : (
        <>
          <Button kind="primary" aria-disabled={whyNot !== null} onClick={compare}>
            {comparing.selected} <kbd class="wide-only">c</kbd>
          </Button>
          {whyNot && <span class="detail">{whyNot}</span>}
          {mayAll('edit') ? (
            <>
              <Button onClick={() => (isTagging.value = true)}>{tagging.button}</Button>
              {listed.length > 0 && (
                <Button onClick={() => void archive(runs, listed)}>{actions.archive}</Button>
              )}
              {archived.length > 0 && (
                <Button onClick={() => void unarchive(runs, archived)}>{actions.unarchive}</Button>
              )}
              {mayAll('admin') ? (
                <Button onClick={() => (isDeleting.value = true)}>{actions.delete}</Button>
              ) : (
                <WhyNot power="admin" />
              )}
            </>
          ) : (
            <WhyNot />
          )}
        </>
      )}
      <Button kind="plain" onClick={selection.clear}>
        {say.clear} <kbd class="wide-only">Esc</kbd>
      </Button>
      {isTagging.value && <TagDialog ids={ids} onClose={() => (isTagging.value = false)} />}
      {isDeleting.value && (
        <DeleteDialog
          runs={ids.flatMap(id => rows.get(id)?.peek() ?? [])}
          onClose={() => (isDeleting.value = false)}
        />
      )}
    </section>
  )
}

function Restoring({ ids }: { ids: readonly string[] }) {
  const runs = useRuns()
  if (!ids.every(id => may('admin', runs.rows.get(id)?.value.project ?? null)))
    return <WhyNot power="admin" />
  return (
    <Button kind="primary" onClick={() => void restore(runs, ids)}>
      {actions.restore}
    </Button>
  )
}

/** Also those that scrolling has not yet read. */
async function selectEvery({ order, readRest, selection }: RunsStore): Promise<void> {
  await readRest()
  selection.set(order.value, true)
}

function whyNotCompared({ length }: readonly string[]): string | null {
  if (length < 2) return comparing.tooFew
  return length > MOST_COMPARED ? comparing.tooMany : null
}
