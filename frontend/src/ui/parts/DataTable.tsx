/** A plain table: the figures of a chart, or what was measured. The first column names its row. */
import type { ComponentChildren } from 'preact'
import './DataTable.css'

interface DataTableProps {
  columns: readonly ComponentChildren[]
  caption: string
  /** Figures are aligned right; the first column never is. */
  isNumeric?: boolean
  class?: string
  rows?: readonly (readonly ComponentChildren[])[]
  /** Rows with a layout of their own. */
  children?: ComponentChildren
}

/** It scrolls sideways on narrow screens, by the keyboard too. */
export function DataTable(props: DataTableProps) {
  const { columns, caption, isNumeric = false, class: name = '', rows = [], children } = props
  return (
    // biome-ignore lint/a11y/useSemanticElements: a fieldset is for controls
    // biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls on narrow screens, so the keyboard must reach it
    <div class="table-scroll" role="group" aria-label={caption} tabIndex={0}>
      <table class={`data ${name} ${isNumeric ? 'numeric' : ''}`}>
        <thead>
          <tr>
            {columns.map((column, index) => (
              <th key={index} scope="col">
                {column}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map(([name, ...cells], index) => (
            <tr key={index}>
              <th scope="row">{name}</th>
              {cells.map((cell, column) => (
                <td key={column}>{cell}</td>
              ))}
            </tr>
          ))}
          {children}
        </tbody>
      </table>
    </div>
  )
}
