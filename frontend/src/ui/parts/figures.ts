/** The figures behind a panel: as columns of a file, in the units that their names end in, and as a table to be read. */
import { evenly } from '../../charts/columns'
import { type Quantity, valueAt } from '../../charts/declared/declaration'
import { formatValue, type Unit } from '../../charts/units'
import type { Cell, Table } from '../../csv'
import { capital } from '../../format'

/** A cell of a table to be read: a figure with its unit, or words, which may lead somewhere. */
export type WordCell = string | { text: string; href: string }

/** A table to be read. */
export interface WordTable {
  /** Left out: the title of the panel. */
  caption?: string
  columns: readonly string[]
  rows: readonly (readonly WordCell[])[]
  /** Figures stand right; the first column never does. */
  isNumeric: boolean
}

/** Neither is made before it is asked for. */
export interface Figures {
  file(): Table
  /** Left out: the panel is a table itself, or has nothing to be read as one. */
  tables?(): readonly WordTable[]
}

export interface FigureColumn<Row> {
  /** In the file; left out: only in the table. */
  name?: string | undefined
  /** Above it in the table; left out: only in the file. */
  label?: string | undefined
  value(row: Row): Cell
  /** Of the figures; left out: words, or numbers without one. */
  unit?: Unit
  /** Instead of the value with its unit. */
  told?(row: Row): WordCell
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
      rows: rows.map(row => filed.map(column => column.value(row))),
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

function wordCell<Row>({ value, unit = 'count', told }: FigureColumn<Row>, row: Row): WordCell {
  if (told) return told(row)
  const cell = value(row)
  return typeof cell === 'string' ? cell : formatValue(unit, cell)
}

/** Rows of a table over an axis: more are no table that anybody reads. */
const ROWS = 24

/** A row for each of the ascending positions `at`, a column for each quantity; `first` is the positions' own. */
export function figuresOver(
  at: readonly number[],
  quantities: readonly Quantity[],
  first: { name: string; label: string; told(at: number): string },
): Required<Figures> {
  const columns: FigureColumn<number>[] = [
    { name: first.name, label: first.label, value: position => position, told: first.told },
    ...quantities.map(quantity => ({
      name: quantity.name,
      label: capital(quantity.label),
      unit: quantity.unit,
      value: (position: number) => valueAt(quantity, position),
    })),
  ]
  return figuresOf(
    columns,
    at,
    evenly(at.length, ROWS).map(index => at[index] ?? 0),
  )
}
