/** Menus of the list of runs: how it is grouped, views that were saved of it, and what is seldom needed. */
import { useSignal } from '@preact/signals'
import { ServiceError } from '../../api/client'
import { type Table, toCsv } from '../../csv'
import { DELETED_HREF, navigate, route, withQuery } from '../../router'
import { ARCHIVED, listFilter, type RunsFilter } from '../../store/filter'
import { readAll, tableOf } from '../../store/listing'
import { show } from '../../store/notice'
import { listMenus, runs as say } from '../../text/runs'
import { deleting, panelMenu, text } from '../../text/shared'
import { saveCsv, writeClipboard } from '../parts/handOut'
import { Menu, type MenuItem } from '../parts/Menu'
import { onDemand } from '../parts/onDemand'
import { Popover } from '../parts/Popover'
import { useRuns } from '../parts/stores'

const RetentionDialog = onDemand(async () => (await import('./RetentionDialog')).RetentionDialog)

/** Archived runs, retention, the list as a link or a file. */
export function MoreMenu() {
  const filter = listFilter.value
  const showsRetention = useSignal(false)
  const { projects } = useRuns().choices.value
  const project = filter.project ?? (projects.length === 1 ? projects[0] : null)
  const items: MenuItem[] = [
    ...[...ARCHIVED, null]
      .filter(which => which !== filter.archived)
      .map(which => ({
        label: which ? say.archived[which] : say.notArchived,
        act: () => navigate(`/${withQuery({ archived: which })}`),
      })),
    filter.deleted
      ? { label: deleting.notDeleted, act: () => navigate('/') }
      : { label: deleting.list, act: () => navigate(DELETED_HREF) },
    { label: panelMenu.link, act: () => void give(copyLink) },
    {
      label: say.copyCsv,
      act: () => void give(() => withTable(filter, table => writeClipboard(toCsv(table)), say.copiedCsv)),
    },
    {
      label: panelMenu.csv,
      act: () =>
        void give(() => withTable(filter, table => saveCsv(table, 'underfed-runs.csv'), say.savedCsv)),
    },
    ...(project ? [{ label: say.retention(project), act: () => (showsRetention.value = true) }] : []),
  ]
  return (
    <>
      <Menu label="⋯" title={say.moreMenu} items={items} />
      {showsRetention.value && project && (
        <RetentionDialog key={project} project={project} onClose={() => (showsRetention.value = false)} />
      )}
    </>
  )
}

/** Says what was done, or why it was not. */
async function give(doing: () => Promise<string>): Promise<void> {
  try {
    show(await doing())
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error
    show(`${say.notRead} ${error.message}`)
  }
}

async function copyLink(): Promise<string> {
  await writeClipboard(location.href)
  return panelMenu.copiedLink
}

async function withTable(
  filter: RunsFilter,
  giving: (table: Table) => Promise<void> | void,
  said: (count: number) => string,
): Promise<string> {
  show(text.loading)
  const found = await readAll(filter)
  if (!found) return say.notRead
  await giving(tableOf(found, filter.config))
  return said(found.runs.length)
}

const Views = onDemand(async () => (await import('./Views')).Views)

export const isByJob = () => route.value.query.get('group') === 'job'

/** What makes a list out of runs: grouped by job or not, and lists that were given a name. */
export function ListMenus() {
  return (
    <Popover
      label={isByJob() ? listMenus.byJob : listMenus.views}
      title={listMenus.views}
      kind="sheet"
      isLazy
    >
      {close => <Views close={close} />}
    </Popover>
  )
}
