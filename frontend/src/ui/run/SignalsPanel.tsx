/** Why we say so: every signal that was looked at, also those that were ruled out. */
import type { Signal } from '../../api/names'
import type { Table } from '../../csv'
import { formatEvidence } from '../../format'
import { signals as say } from '../../text/run'
import { DataTable } from '../parts/DataTable'
import { Diamond, Ring } from '../parts/Glyph'
import { Panel } from '../parts/Panel'
import './SignalsPanel.css'

const COLUMNS = Object.values(say.columns)

export function SignalsPanel({ signals }: { signals: readonly Signal[] }) {
  const rows = signals.map(signal => [
    signal.signal,
    measured(signal),
    signal.healthy,
    <Reading key="reading" signal={signal} />,
  ])
  return (
    <Panel title={say.title} name="signals" class="signals" csv={() => figures(signals)}>
      <DataTable caption={say.title} columns={COLUMNS} rows={rows} />
    </Panel>
  )
}

function figures(signals: readonly Signal[]): Table {
  const rows = signals.map(({ signal, measured: { value, unit, what }, healthy, reading, says }) => [
    ...[signal, value, unit, what, healthy, reading, says],
  ])
  return { columns: ['signal', 'value', 'unit', 'what', 'healthy', 'reading', 'says'], rows }
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
