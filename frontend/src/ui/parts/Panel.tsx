/** A heading with its small print and controls, and content; a chart can be read as a table instead. */
import { useSignal } from '@preact/signals'
import type { ComponentChildren } from 'preact'
import { useEffect, useId, useRef } from 'preact/hooks'
import { type Block, heading, pictureOf, table } from '../../charts/picture'
import type { Cell } from '../../csv'
import { navigate, route, withQuery } from '../../router'
import { show as notify } from '../../store/notice'
import { panelMenu as say, text } from '../../text/shared'
import { Button } from './Button'
import { DataTable } from './DataTable'
import type { Figures, WordCell, WordTable } from './figures'
import { handOutPicture, saveCsv, writeClipboard } from './handOut'
import { Menu, type MenuItem } from './Menu'
import './Panel.css'

interface PanelProps {
  title: string
  /** Its name in the address: `#name` leads here, `table=name` shows it as a table. */
  name?: string
  detail?: ComponentChildren
  controls?: ComponentChildren
  /** What it can be saved as, and where there are tables read as. */
  figures?: Figures | undefined
  /** Its charts and words in a picture; left out: its figures. */
  picture?: (() => readonly Block[]) | undefined
  /** Only its title is shown until it is opened. */
  isFolded?: boolean
  /** While it is folded: something elsewhere asks for what is in it. */
  isAskedFor?: boolean
  /** Its content comes when it is opened first. */
  isLazy?: boolean
  class?: string
  children: ComponentChildren
}

export function Panel(props: PanelProps) {
  return props.isFolded ? <FoldedPanel {...props} /> : <OpenPanel {...props} />
}

/** Folded while there is nothing out of the ordinary; what was shown once is not folded away from its reader. */
export function useFolded(isOrdinary: boolean): boolean {
  const wasShown = useRef(false)
  wasShown.current ||= !isOrdinary
  return !wasShown.current
}

function OpenPanel(props: PanelProps) {
  const { title, name, detail, class: kind = '' } = props
  const id = useId()
  const section = useRef<HTMLElement>(null)
  const view = useView(name)
  useEffect(() => {
    if (name && location.hash === `#${name}`) section.current?.scrollIntoView()
  }, [name])
  return (
    <section ref={section} id={name} class={`panel ${kind}`} aria-labelledby={id}>
      <header>
        <h2 id={id}>{title}</h2>
        {detail && <span class="detail">{detail}</span>}
        <span class="controls row screen-only">
          <Controls {...props} view={view} />
        </span>
      </header>
      <Content {...props} view={view} />
    </section>
  )
}

/** Its address opens it, and so does that of its table. */
function FoldedPanel(props: PanelProps) {
  const { title, name, detail, controls, isAskedFor = false, isLazy = false, class: kind = '' } = props
  const section = useRef<HTMLDetailsElement>(null)
  const view = useView(name)
  const isOpen = useSignal(!isLazy)
  const [isTable] = view
  useEffect(() => {
    if (!section.current || !name || location.hash !== `#${name}`) return
    section.current.open = true
    section.current.scrollIntoView()
  }, [name])
  useEffect(() => {
    if (section.current && (isTable || isAskedFor)) section.current.open = true
  }, [isTable, isAskedFor])
  return (
    <details
      ref={section}
      id={name}
      class={`folded ${kind}`}
      onToggle={event => (isOpen.value ||= event.currentTarget.open)}
    >
      <summary>
        <h2>{title}</h2>
        {detail && <span class="detail">{detail}</span>}
      </summary>
      {(name || controls) && (
        <span class="folded-controls row screen-only">
          <Controls {...props} view={view} />
        </span>
      )}
      {isOpen.value && <Content {...props} view={view} />}
    </details>
  )
}

type View = readonly [isTable: boolean, switchView: () => void]

function Controls(props: PanelProps & { view: View }) {
  const { title, name, controls, figures, picture, view } = props
  const [isTable, switchView] = view
  return (
    <>
      {controls}
      {figures?.tables && (
        <Button
          kind="small"
          aria-pressed={isTable}
          aria-label={`${isTable ? text.asChart : text.asTable}: ${title}`}
          onClick={switchView}
        >
          {isTable ? text.asChart : text.asTable}
        </Button>
      )}
      {name && (
        <PanelMenu title={title} name={name} figures={figures} picture={isTable ? undefined : picture} />
      )}
    </>
  )
}

function Content({ title, figures, children, view: [isTable] }: PanelProps & { view: View }) {
  if (!isTable || !figures?.tables) return children
  return figures.tables().map(table => <WordsTable key={table.caption} table={table} title={title} />)
}

function WordsTable({ table: { caption, rows, ...table }, title }: { table: WordTable; title: string }) {
  const cells = rows.map(row =>
    row.map(cell => (typeof cell === 'string' ? cell : <a href={cell.href}>{cell.text}</a>)),
  )
  return <DataTable {...table} caption={caption ?? title} rows={cells} />
}

/** Chart or table: the address remembers it for a panel with a name, else it lasts until the page is left. */
function useView(name: string | undefined): View {
  const own = useSignal(false)
  if (!name) return [own.value, () => (own.value = !own.value)]
  const { query } = route.value
  const tables = (query.get('table') ?? '').split(',').filter(Boolean)
  const isTable = tables.includes(name)
  const others = tables.filter(one => one !== name)
  const next = isTable ? others : [...others, name]
  const change = () => navigate(location.pathname + withQuery({ table: next.join(',') }), 'replace')
  return [isTable, change]
}

interface PanelMenuProps {
  title: string
  name: string
  figures: Figures | undefined
  /** Without it the picture has the figures. */
  picture: (() => readonly Block[]) | undefined
}

/** Saves it: as a picture, as figures, as a link. */
function PanelMenu({ title, name, figures, picture }: PanelMenuProps) {
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
