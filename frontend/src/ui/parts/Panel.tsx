/** A heading with its small print and controls, and what it heads; a chart can be read as a table instead. */
import { useSignal } from '@preact/signals'
import type { ComponentChildren } from 'preact'
import { useEffect, useId, useRef } from 'preact/hooks'
import type { Table } from '../../csv'
import { navigate, route, withQuery } from '../../router'
import { text } from '../../text/shared'
import { PanelMenu } from './PanelMenu'
import './Panel.css'

interface PanelProps {
  title: string
  /** What the address calls it: in `#name` to come here, in `table=name` to read it as a table. */
  name?: string
  detail?: ComponentChildren
  controls?: ComponentChildren
  /** The same as a table; the panel then has the button that switches. */
  table?: (() => ComponentChildren) | undefined
  /** Its figures, in the units that the columns name. */
  csv?: (() => Table) | undefined
  class?: string
  children: ComponentChildren
}

export function Panel({ title, name, detail, controls, table, csv, class: kind = '', children }: PanelProps) {
  const id = useId()
  const section = useRef<HTMLElement>(null)
  const [isTable, switchView] = useView(name)
  useEffect(() => {
    if (name && location.hash === `#${name}`) section.current?.scrollIntoView()
  }, [name])
  return (
    <section ref={section} id={name} class={`panel ${kind}`} aria-labelledby={id}>
      <header>
        <h2 id={id}>{title}</h2>
        {detail && <span class="detail">{detail}</span>}
        <span class="controls">
          {controls}
          {table && (
            <button
              type="button"
              class="button small"
              aria-pressed={isTable}
              aria-label={`${isTable ? text.asChart : text.asTable}: ${title}`}
              onClick={switchView}
            >
              {isTable ? text.asChart : text.asTable}
            </button>
          )}
          {name && <PanelMenu title={title} name={name} section={section} csv={csv} />}
        </span>
      </header>
      {isTable && table ? table() : children}
    </section>
  )
}

/** Chart or table: in the address of a panel that has a name there, else until the page is left. */
function useView(name: string | undefined): readonly [isTable: boolean, switchView: () => void] {
  const own = useSignal(false)
  if (!name) return [own.value, () => (own.value = !own.value)]
  const { query } = route.value
  const tables = (query.get('table') ?? '').split(',').filter(Boolean)
  const isTable = tables.includes(name)
  const others = tables.filter(one => one !== name)
  const next = isTable ? others : [...others, name]
  const change = () => navigate(location.pathname + withQuery(query, { table: next.join(',') }), 'replace')
  return [isTable, change]
}
