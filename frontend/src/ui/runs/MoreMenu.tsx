/** What is seldom needed of the list: what was put away, how long runs are kept, the list as a link or a file. */
import { useSignal } from '@preact/signals'
import { ServiceError } from '../../api/client'
import { toCsv } from '../../csv'
import { show } from '../../store/actions'
import { readAll, tableOf } from '../../store/listing'
import { ARCHIVED, type RunsQuery } from '../../store/query'
import { projects, trouble } from '../../store/runs'
import { panelMenu, runs as say, text } from '../../text'
import { save, writeClipboard } from '../parts/handOut'
import { Menu, type MenuItem } from '../parts/Menu'
import { KeepingDialog } from './KeepingDialog'

interface MoreProps {
  asking: RunsQuery
  onArchived(archived: string | null): void
}

export function MoreMenu({ asking, onArchived }: MoreProps) {
  const isKeeping = useSignal(false)
  const kept = asking.project ?? (projects.value.length === 1 ? projects.value[0] : null)
  const keep = () => {
    isKeeping.value = true
  }
  const items: MenuItem[] = [
    ...[...ARCHIVED, null]
      .filter(which => which !== asking.archived)
      .map(which => ({ label: which ? say.archived[which] : say.notArchived, act: () => onArchived(which) })),
    { label: panelMenu.link, act: () => void give(copyLink) },
    { label: say.copyCsv, act: () => void give(() => withCsv(asking, writeClipboard, say.copiedCsv)) },
    { label: panelMenu.csv, act: () => void give(() => withCsv(asking, saveCsv, say.savedCsv)) },
    ...(kept ? [{ label: say.retention(kept), act: keep }] : []),
  ]
  return (
    <>
      <Menu label="⋯" title={say.moreMenu} items={items} />
      {isKeeping.value && kept && (
        <KeepingDialog key={kept} project={kept} onClose={() => (isKeeping.value = false)} />
      )}
    </>
  )
}

/** Tells what was done; a failure of the service stands above the list, as one of the list itself. */
async function give(doing: () => Promise<string>): Promise<void> {
  try {
    show({ text: await doing(), undo: null })
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error
    trouble.value = error
  }
}

async function copyLink(): Promise<string> {
  await writeClipboard(location.href)
  return panelMenu.copiedLink
}

async function withCsv(
  asking: RunsQuery,
  giving: (csv: string) => Promise<void> | void,
  told: (count: number) => string,
): Promise<string> {
  show({ text: text.loading, undo: null })
  const found = await readAll(asking)
  if (!found) return say.notRead
  await giving(toCsv(tableOf(found)))
  return told(found.length)
}

function saveCsv(csv: string): void {
  save(new Blob([csv], { type: 'text/csv' }), 'underfed-runs.csv')
}
