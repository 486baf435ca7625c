/** A plain table: the figures of a chart, or what was measured. The first column names its row. */
import type { ComponentChildren } from 'preact'
import './DataTable.css'

interface DataTableProps {
  columns: readonly string[]
  rows: readonly (readonly ComponentChildren[])[]
  caption: string
  /** Figures stand right; the first column never does. */
  isNumeric?: boolean
}

export function DataTable({ columns, rows, caption, isNumeric = false }: DataTableProps) {
  return (
    // biome-ignore lint/a11y/useSemanticElements: a fieldset is for controls
    // biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls on narrow screens, so the keyboard must reach it
    <div class="table-scroll" role="group" aria-label={caption} tabIndex={0}>
      <table class={`data ${isNumeric ? 'numeric' : ''}`}>
        <thead>
          <tr>
            {columns.map(column => (
              <th key={column} scope="col">
                {column}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row, index) => (
            <tr key={index}>
              {row.map((cell, column) =>
                column === 0 ? (
                  <th key={column} scope="row">
                    {cell}
                  </th>
                ) : (
                  <td key={column}>{cell}</td>
                ),
              )}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  )
}
