/** The share that each rank waits, to see whether one rank waits or all. Choosing one shows its charts. */
import type { Diagnosis } from '../../api/schema'
import { formatFraction, formatRange } from '../../format'
import { WHOLE } from '../../store/permalink'
import type { RunStore } from '../../store/run'
import { charts } from '../../text/charts'
import { ranks as say } from '../../text/run'
import { type FigureColumn, figuresOf } from '../parts/figures'
import { Panel, useFolded } from '../parts/Panel'
import './RanksPanel.css'

/** More than these are a field of cells: a bar each would be a page of bars. */
const BARS = 8

/** Of a step; a wait that is shorter counts as none, and so does a difference. */
const LEAST_DIFFERENCE = 0.05

type Rank = Diagnosis['ranks'][number]

const COLUMNS: readonly FigureColumn<Rank>[] = [
  { name: 'rank', label: 'Rank', format: one => charts.rankOption(one.rank, one.straggler) },
  { name: 'data_stall_fraction', label: 'Data wait', unit: 'fraction' },
  { name: 'straggler', value: one => (one.straggler ? 1 : 0) },
]

export function RanksPanel({ store, diagnosis }: { store: RunStore; diagnosis: Diagnosis }) {
  const { ranks } = diagnosis
  const chosen = store.selection.value.rank ?? store.series.value?.rank ?? null
  const isFolded = useFolded(areAlike(ranks))
  return (
    <Panel
      title={say.title}
      name="ranks"
      detail={isFolded ? `${say.detail} ${rangeOf(ranks)}` : say.detail}
      isFolded={isFolded}
      figures={figuresOf(COLUMNS, ranks)}
    >
      <Stragglers ranks={ranks} />
      <fieldset class={ranks.length > BARS ? 'rank-cells' : 'ranks'}>
        <legend class="visually-hidden">{say.choose}</legend>
        {ranks.map(rank => (
          <Choice
            key={rank.rank}
            rank={rank}
            isCell={ranks.length > BARS}
            isChosen={rank.rank === chosen}
            onChoose={() => store.select({ rank: rank.rank, range: WHOLE })}
          />
        ))}
      </fieldset>
      {ranks.length > BARS && <p class="detail">{say.cells}</p>}
    </Panel>
  )
}

/** No rank is to blame, and none hides behind a mean. */
function areAlike(ranks: readonly Rank[]): boolean {
  const [least, most] = endsOf(ranks)
  return !ranks.some(rank => rank.straggler) && most - least < LEAST_DIFFERENCE
}

function rangeOf(ranks: readonly Rank[]): string {
  const [least, most] = endsOf(ranks)
  return formatRange(formatFraction(least), formatFraction(most))
}

/** A rank without a verdict differs from all others. */
function endsOf(ranks: readonly Rank[]): readonly [least: number, most: number] {
  const shares = ranks.map(rank => rank.data_stall_fraction ?? Number.NaN)
  return [Math.min(...shares), Math.max(...shares)]
}

/** One rank that waits makes all others wait for it: why it does, the verdict says. */
function Stragglers({ ranks }: Pick<Diagnosis, 'ranks'>) {
  const slow = ranks.filter(rank => rank.straggler).map(one => one.rank)
  return slow.length > 0 ? <p class="straggler-note remark">{say.stragglers(slow)}</p> : null
}

interface ChoiceProps {
  rank: Rank
  isCell: boolean
  isChosen: boolean
  onChoose(): void
}

/** Radio buttons, which the browser moves through with the arrow keys. */
function Choice({ rank, isCell, isChosen, onChoose }: ChoiceProps) {
  const { data_stall_fraction: share, straggler } = rank
  const name = charts.rankOption(rank.rank, straggler)
  const width = { width: `${100 * (share ?? 0)}%` }
  return (
    <label class={straggler ? 'straggler' : ''} title={`${name}: ${formatFraction(share)}`}>
      <input
        type="radio"
        name="rank"
        class="visually-hidden"
        checked={isChosen}
        aria-label={`${name}: ${formatFraction(share)}`}
        onChange={onChoose}
      />
      <span>{isCell ? rank.rank : name}</span>
      <i aria-hidden="true">
        <b style={width} />
      </i>
      {!isCell && <span>{formatFraction(share)}</span>}
    </label>
  )
}
