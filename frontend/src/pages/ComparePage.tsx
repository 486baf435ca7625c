/** Several runs against the first, in the order of reading: how fast and why, what to doubt, what differs, since when. */
import { useEffect, useMemo } from 'preact/hooks'
import type { Comparison } from '../api/schema'
import { unbroken } from '../format'
import { navigate, route, runsHref } from '../router'
import { openComparison } from '../store/compare'
import { chosenRuns, compareHref, MOST_COMPARED } from '../store/compareHref'
import { compare as say } from '../text/compare'
import { text } from '../text/shared'
import { ComparedHotspots } from '../ui/compare/ComparedHotspots'
import { ComparedRuns } from '../ui/compare/ComparedRuns'
import { ComparedSettings } from '../ui/compare/ComparedSettings'
import { OverlayPanel } from '../ui/compare/OverlayPanel'
import { RunPicker } from '../ui/compare/RunPicker'
import { TroubleBanner } from '../ui/parts/Banner'
import { Button } from '../ui/parts/Button'
import { Ledger } from '../ui/parts/Ledger'
import { usePage } from '../ui/parts/page'
import { Skeleton } from '../ui/parts/Skeleton'
import { useStore } from '../ui/parts/stores'
import './ComparePage.css'

/** Sentences of more runs would push the picture off the screen. */
const FEW = 2

export function ComparePage() {
  const key = chosenRuns(route.value.query).join(' ')
  const ids = useMemo(() => (key ? key.split(' ') : []), [key])
  const store = useStore(openComparison)
  useEffect(() => store.choose(ids), [store, ids])

  const found = store.comparison.value
  const isCurrent = found !== null && found.runs.map(one => one.run.run_id).join(' ') === key
  const labels = isCurrent ? found.runs.map(one => one.label).join(', ') : text.compare
  usePage(labels, { '/': focusSearch, Escape: () => navigate(runsHref()) })

  const add = (id: string) => navigate(compareHref([...ids, id], route.value.query))
  if (ids.length < 2) return <Choosing ids={ids} onPick={add} />
  const trouble = store.comparison.trouble.value
  return (
    <>
      {trouble && <TroubleBanner what={say.what} error={trouble} />}
      {trouble && trouble.status === 404 && <Choosing ids={[]} onPick={id => navigate(compareHref([id]))} />}
      {!trouble && !found && <Skeleton />}
      {found && !(trouble?.status === 404) && (
        <>
          <Head comparison={found} ids={ids} onPick={add} />
          <ComparedRuns comparison={found} />
          {found.ledger.length > 0 && <Ledger run={null} entries={found.ledger} names={namesOf(found)} />}
          <ComparedHotspots {...found} />
          <ComparedSettings {...found} />
          <OverlayPanel comparison={found} series={store.series.value} />
        </>
      )}
    </>
  )
}

interface ChoosingProps {
  ids: readonly string[]
  onPick(runId: string): void
}

/** None or one is chosen yet. */
function Choosing({ ids, onPick }: ChoosingProps) {
  return (
    <div class="empty">
      <h1>{say.pick}</h1>
      <p>{ids.length === 0 ? say.pickDetail : say.pickOne}</p>
      {ids.map(id => (
        <p key={id} class="with-glyph">
          <span class="tag">{id}</span> {say.baseline}
          <Button kind="plain small" aria-label={say.remove(id)} onClick={() => navigate('/compare')}>
            ×
          </Button>
        </p>
      ))}
      <p class="detail">{say.pickKeys}</p>
      <RunPicker chosen={ids} onPick={onPick} />
    </div>
  )
}

interface HeadProps extends ChoosingProps {
  comparison: Comparison
}

function Head({ comparison, ids, onPick }: HeadProps) {
  const { runs, sentence, cautions } = comparison
  const others = runs.filter(run => run.sentence && !sentence.includes(run.sentence))
  return (
    <header class="compare-head">
      <div>
        <h1 class="verdict-sentence">{unbroken(sentence)}</h1>
        <Others runs={others} />
        {cautions.length > 0 && (
          <section class="banner framed" aria-label={say.cautions}>
            {cautions.map(caution => (
              <p key={caution.sentence}>{caution.sentence}</p>
            ))}
          </section>
        )}
      </div>
      {ids.length < MOST_COMPARED ? (
        <details class="add-run">
          <summary class="button">{say.add}</summary>
          <RunPicker chosen={ids} onPick={onPick} />
        </details>
      ) : (
        <p class="detail">{say.full}</p>
      )}
    </header>
  )
}

function Others({ runs }: { runs: Comparison['runs'] }) {
  const list = (
    <ul class="compare-others quiet">
      {runs.map(run => (
        <li key={run.run.run_id}>{unbroken(run.sentence ?? '')}</li>
      ))}
    </ul>
  )
  if (runs.length <= FEW) return list
  return (
    <details>
      <summary class="detail">{say.others}</summary>
      {list}
    </details>
  )
}

function namesOf({ runs }: Comparison): ReadonlyMap<string, string> {
  return new Map(runs.map(one => [one.run.run_id, one.label]))
}

function focusSearch(): void {
  document.querySelector('.add-run')?.setAttribute('open', '')
  document.querySelector<HTMLInputElement>('.picker input')?.focus()
}
