/** The figures behind a panel: as columns of a file, in the units that their names end in, and as a table to be read. */
import { evenly } from '../../charts/columns'
import { type ChartSet, valueAt } from '../../charts/declared/declaration'
import { formatValue, type Unit } from '../../charts/units'
import type { Cell, Table } from '../../csv'
import { capital } from '../../format'

/** A cell of a table to be read: a figure with its unit, or words, which may lead somewhere. */
export type WordCell = string | { text: string; href: string }

/** A table to be read. */
export interface WordTable {
  /** Left out: the title of the panel. */
  caption?: string | undefined
  columns: readonly string[]
  rows: readonly (readonly WordCell[])[]
  /** Figures are aligned right; the first column never is. */
  isNumeric: boolean
}

/** Both are built only when asked for. */
export interface Figures {
  file(): Table
  /** Left out: the panel is a table itself, or has nothing to be read as one. */
  tables?(): readonly WordTable[]
}

export type FigureColumn<Row> = ColumnLooks<Row> &
  (
    | { name: keyof Row & string; value?: undefined }
    /** `name`: in the file; left out: only in the table. */
    | { name?: string; value(row: Row): Cell }
  )

interface ColumnLooks<Row> {
  /** Above it in the table; left out: only in the file. */
  label?: string | undefined
  /** Of the figures; left out: words, or numbers without one. */
  unit?: Unit
  /** Instead of the value with its unit. */
  format?(row: Row): WordCell
}

/** Columns of a file that have the values as they are. */
export function asTheyAre<Row>(...names: readonly (keyof Row & string)[]): readonly FigureColumn<Row>[] {
  return names.map(name => ({ name }))
}

/** Both from the same columns; `shown` of the rows are in the table. */
export function figuresOf<Row>(
  columns: readonly FigureColumn<Row>[],
  rows: readonly Row[],
  shown: readonly Row[] = rows,
): Required<Figures> {
  const [filed, read] = [columns.filter(({ name }) => name), columns.filter(({ label }) => label)]
  return {
    file: () => ({
      columns: filed.map(({ name = '' }) => name),
      rows: rows.map(row => filed.map(column => cellOf(column, row))),
    }),
    tables: () => [
      {
        columns: read.map(({ label = '' }) => label),
        rows: shown.map(row => read.map(column => wordCell(column, row))),
        isNumeric: true,
      },
    ],
  }
}

function cellOf<Row>({ name, value }: FigureColumn<Row>, row: Row): Cell {
  return value ? value(row) : (row[name as keyof Row] as Cell)
}

function wordCell<Row>(column: FigureColumn<Row>, row: Row): WordCell {
  const { unit = 'count', format } = column
  if (format) return format(row)
  const cell = cellOf(column, row)
  return typeof cell === 'string' ? cell : formatValue(unit, cell)
}

/** Most rows of a table over an axis: nobody reads more. */
const ROWS = 24

/** A row for each position, a column for each quantity. */
export function figuresOver(set: ChartSet): Required<Figures> {
  const { at, quantities, across, position } = set
  const columns: FigureColumn<number>[] = [
    { ...position, value: here => here, format: across.inWords },
    ...quantities.map(quantity => ({
      name: quantity.name,
      label: capital(quantity.label),
      unit: quantity.unit,
      value: (here: number) => valueAt(quantity, here),
    })),
  ]
  const shown = evenly(at.length, ROWS).map(index => at[index] ?? 0)
  const figures = figuresOf(columns, at, shown)
  return { ...figures, tables: () => figures.tables().map(table => ({ ...table, caption: set.caption })) }
}
