/** The evidence of the verdict: every signal that was looked at, also those that were ruled out. */
import type { Signal } from '../../api/schema'
import { table } from '../../charts/picture'
import { formatEvidence } from '../../format'
import { signals as say } from '../../text/run'
import { DataTable } from '../parts/DataTable'
import { type FigureColumn, figuresOf } from '../parts/figures'
import { Diamond, Ring } from '../parts/Glyph'
import { Panel } from '../parts/Panel'
import './SignalsPanel.css'

const COLUMNS = Object.values(say.columns)

const FILED: readonly FigureColumn<Signal>[] = [
  { name: 'signal' },
  { name: 'value', value: ({ measured }) => measured.value },
  { name: 'unit', value: ({ measured }) => measured.unit },
  { name: 'what', value: ({ measured }) => measured.what },
  { name: 'healthy' },
  { name: 'reading' },
  { name: 'says' },
]

export function SignalsPanel({ signals }: { signals: readonly Signal[] }) {
  const rows = signals.map(signal => ({ signal, cells: [signal.signal, measured(signal), signal.healthy] }))
  return (
    <Panel
      title={say.title}
      name="signals"
      class="signals"
      figures={{ file: figuresOf(FILED, signals).file }}
      picture={() => [table([COLUMNS, ...rows.map(({ signal, cells }) => [...cells, signal.says])])]}
    >
      <DataTable
        caption={say.title}
        columns={COLUMNS}
        rows={rows.map(({ signal, cells }) => [...cells, <Reading key="reading" signal={signal} />])}
      />
    </Panel>
  )
}

/** What it is a share of belongs to the figure; a setting's name is the row's already. */
function measured({ measured: evidence }: Signal): string {
  const figure = formatEvidence(evidence)
  return evidence.value === null || evidence.unit === 'setting' ? figure : `${figure} ${evidence.what}`
}

function Reading({ signal: { reading, says } }: { signal: Signal }) {
  return (
    <span class={`with-glyph reading ${reading}`}>
      {reading === 'cause' || reading === 'symptom' ? (
        <Diamond />
      ) : (
        <Ring dashed={reading === 'not_measured'} />
      )}
      {says}
    </span>
  )
}
