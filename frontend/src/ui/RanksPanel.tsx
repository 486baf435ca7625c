/** The share that each rank waits: is it one, or all? */
import type { Diagnosis } from '../api/names'
import { formatFraction } from '../format'
import { charts, ranks as say } from '../text'
import { Panel } from './Panel'

/** More are told in one line: the picture is of those that wait most. */
const SHOWN = 8

type Rank = Diagnosis['ranks'][number]

export function RanksPanel({ ranks }: { ranks: readonly Rank[] }) {
  const most = ranks.toSorted((a, b) => waitOf(b) - waitOf(a)).slice(0, SHOWN)
  const shown = ranks.length <= SHOWN ? ranks : most
  return (
    <Panel title={say.title} detail={say.detail}>
      <ul class="ranks">
        {shown.map(({ rank, data_stall_fraction: share, straggler }) => (
          <li key={rank} class={straggler ? 'straggler' : ''}>
            <span>{charts.rankOption(rank, straggler)}</span>
            <i aria-hidden="true">
              <b style={{ width: `${100 * (share ?? 0)}%` }} />
            </i>
            <span>{formatFraction(share)}</span>
          </li>
        ))}
      </ul>
      {ranks.length > SHOWN && <p class="detail">{say.others(ranks.length - SHOWN)}</p>}
    </Panel>
  )
}

function waitOf(rank: Rank): number {
  return rank.data_stall_fraction ?? 0
}
