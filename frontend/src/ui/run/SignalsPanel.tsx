/** The evidence of the verdict: every signal that was looked at, also those that were ruled out. */
import { useSignal } from '@preact/signals'
import type { Signal } from '../../api/schema'
import { table } from '../../charts/picture'
import { formatEvidence } from '../../format'
import { signals as say } from '../../text/run'
import { Toggle } from '../parts/Button'
import { DataTable } from '../parts/DataTable'
import { asTheyAre, type FigureColumn, figuresOf } from '../parts/figures'
import { Diamond, Ring } from '../parts/Glyph'
import { isNarrow } from '../parts/media'
import { Panel } from '../parts/Panel'
import './SignalsPanel.css'

const COLUMNS = Object.values(say.columns)

const FILED: readonly FigureColumn<Signal>[] = [
  ...asTheyAre<Signal>('signal'),
  { name: 'value', value: ({ measured }) => measured.value },
  { name: 'unit', value: ({ measured }) => measured.unit },
  { name: 'what', value: ({ measured }) => measured.what },
  ...asTheyAre<Signal>('healthy', 'reading', 'says'),
]

/** What a reader takes in. */
const MOST = 7
/** Where fewer speak for a cause, some that were ruled out show that others were looked at. */
const LEAST = 3

interface SignalsPanelProps {
  signals: readonly Signal[]
  /** Nothing is wrong: what is out of the ordinary is no alarm. */
  isWell: boolean
}

export function SignalsPanel({ signals, isWell }: SignalsPanelProps) {
  const showsAll = useSignal(false)
  const rowOf = (signal: Signal) => ({ signal, cells: [signal.signal, measured(signal), signal.healthy] })
  const rows = signals.map(rowOf)
  const shown = showsAll.value ? rows : fewOf(signals).map(rowOf)
  return (
    <Panel
      title={say.title}
      name="signals"
      class={`signals ${isWell ? 'well' : ''}`}
      // On a phone the verdict says it in words, and the charts stay near it.
      isFolded={isNarrow.value}
      detail={isNarrow.value ? causesIn(signals) : undefined}
      controls={
        signals.length > fewOf(signals).length && <Toggle on={showsAll}>{say.all(signals.length)}</Toggle>
      }
      figures={{ file: figuresOf(FILED, signals).file }}
      picture={() => [table([COLUMNS, ...rows.map(({ signal, cells }) => [...cells, signal.says])])]}
    >
      <DataTable
        caption={say.title}
        columns={COLUMNS}
        rows={shown.map(({ signal, cells }) => [...cells, <Reading key="reading" signal={signal} />])}
      />
    </Panel>
  )
}

/** Those that speak for a cause come first; what was ruled out is folded, but for a few. */
function fewOf(signals: readonly Signal[]): readonly Signal[] {
  const rank = (signal: Signal) => (speaksForCause(signal) ? 0 : signal.reading === 'not_measured' ? 2 : 1)
  const speaking = signals.filter(speaksForCause).length
  return signals.toSorted((a, b) => rank(a) - rank(b)).slice(0, Math.min(MOST, Math.max(LEAST, speaking)))
}

/** What speaks for a cause, in short. */
function causesIn(signals: readonly Signal[]): string {
  const said = new Set(signals.filter(speaksForCause).map(({ says }) => says))
  return said.size > 0 ? [...said].join(', ') : say.allRuledOut
}

function speaksForCause({ reading }: Signal): boolean {
  return reading === 'cause' || reading === 'symptom'
}

/** What it is a share of belongs to the figure; a setting's name is the row's already. */
function measured({ measured: evidence }: Signal): string {
  const figure = formatEvidence(evidence)
  return evidence.value === null || evidence.unit === 'setting' ? figure : `${figure} ${evidence.what}`
}

function Reading({ signal }: { signal: Signal }) {
  const { reading, says } = signal
  return (
    <span class={`with-glyph reading ${reading}`}>
      {speaksForCause(signal) ? <Diamond /> : <Ring dashed={reading === 'not_measured'} />}
      {says}
    </span>
  )
}
