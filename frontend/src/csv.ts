/** A table as a file for spreadsheets and programs: what a chart draws, in the units that its columns name. */

export type Cell = string | number | null

export interface Table {
  columns: readonly string[]
  rows: readonly (readonly Cell[])[]
}

/** RFC 4180. Not measured is an empty cell. Text that a spreadsheet would read as a formula is marked as text. */
export function toCsv({ columns, rows }: Table): string {
  return `${[columns, ...rows].map(row => row.map(cellText).join(',')).join('\r\n')}\r\n`
}

function cellText(cell: Cell): string {
  if (cell === null) return ''
  if (typeof cell === 'number') return String(cell)
  const safe = /^[=+\-@\t\r]/.test(cell) ? `'${cell}` : cell
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe
}
