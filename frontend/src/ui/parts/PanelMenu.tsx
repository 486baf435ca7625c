/** Takes a panel out of the page: as a picture, as figures, as a link. */
import type { RefObject } from 'preact'
import { type Table, toCsv } from '../../csv'
import { show as tell } from '../../store/notice'
import { panelMenu as say } from '../../text/shared'
import { handOutPicture, save, writeClipboard } from './handOut'
import { Menu, type MenuItem } from './Menu'
import { pictureOf } from './picture'

interface PanelMenuProps {
  title: string
  name: string
  section: RefObject<HTMLElement | null>
  csv: (() => Table) | undefined
}

export function PanelMenu({ title, name, section, csv }: PanelMenuProps) {
  const fileName = (ending: string) => `${document.title.split(' · ')[1] ?? 'underfed'}-${name}.${ending}`

  async function copyPicture(): Promise<void> {
    const picture = await pictureOf(section.current as HTMLElement, document.title, tone())
    tell(say[await handOutPicture(picture, fileName('png'))])
  }
  async function copyLink(): Promise<void> {
    await writeClipboard(`${location.origin}${location.pathname}${location.search}#${name}`)
    tell(say.copiedLink)
  }
  function saveFigures(figures: () => Table): void {
    save(new Blob([toCsv(figures())], { type: 'text/csv' }), fileName('csv'))
  }
  const items: MenuItem[] = [
    { label: say.picture, act: () => void copyPicture() },
    ...(csv ? [{ label: say.csv, act: () => saveFigures(csv) }] : []),
    { label: say.link, act: () => void copyLink() },
  ]
  return <Menu label="⋯" title={say.title(title)} items={items} small />
}

/** As the page's verdict has it: only what is lost waiting is loud. */
function tone(): string {
  return document.querySelector('.kind.loud') ? '--wait' : '--ink-2'
}
