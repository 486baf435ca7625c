/** Saves a panel: as a picture, as figures, as a link. */
import { type Block, heading, pictureOf, table } from '../../charts/picture'
import type { Cell } from '../../csv'
import { show as notify } from '../../store/notice'
import { panelMenu as say } from '../../text/shared'
import type { Figures, WordCell } from './figures'
import { handOutPicture, saveCsv, writeClipboard } from './handOut'
import { Menu, type MenuItem } from './Menu'

interface PanelMenuProps {
  title: string
  name: string
  figures: Figures | undefined
  /** Without it the picture has the figures. */
  picture: (() => readonly Block[]) | undefined
}

export function PanelMenu({ title, name, figures, picture }: PanelMenuProps) {
  const fileName = (ending: string) => `${document.title.split(' · ')[1] ?? 'underfed'}-${name}.${ending}`

  async function copyPicture(): Promise<void> {
    const blocks = [
      heading(document.title, ''),
      heading(title, '', true),
      ...(picture?.() ?? tableBlocks(figures)),
    ]
    notify(say[await handOutPicture(await pictureOf(blocks), fileName('png'))])
  }
  async function copyLink(): Promise<void> {
    await writeClipboard(`${location.origin}${location.pathname}${location.search}#${name}`)
    notify(say.copiedLink)
  }
  const items: MenuItem[] = [
    ...(figures || picture ? [{ label: say.picture, act: () => void copyPicture() }] : []),
    ...(figures ? [{ label: say.csv, act: () => saveCsv(figures.file(), fileName('csv')) }] : []),
    { label: say.link, act: () => void copyLink() },
  ]
  return <Menu label="⋯" title={say.title(title)} items={items} small />
}

function tableBlocks(figures: Figures | undefined): readonly Block[] {
  const tables = figures?.tables?.() ?? (figures ? [figures.file()] : [])
  return tables.map(({ columns, rows }) => table([columns, ...rows.map(row => row.map(cellText))]))
}

function cellText(cell: WordCell | Cell): string {
  return typeof cell === 'object' && cell !== null ? cell.text : String(cell ?? '')
}
