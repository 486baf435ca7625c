/** Which rank, which loader, how much of the run: each offered only where there is a choice. */
import type { Run } from '../../api/names'
import { WHOLE } from '../../store/permalink'
import type { Figures, Range, RunStore } from '../../store/run'
import { charts as say } from '../../text/charts'
import { Choice } from '../parts/Choice'

/** Offered where they are clearly shorter than the run. */
const SPANS = [
  { spanS: 900, label: '15 min' },
  { spanS: 3_600, label: '1 h' },
] as const
const CLEARLY = 1.2

export function RangeChoice({ store }: { store: RunStore }) {
  const run = store.run.value
  const { rank, loader, range, figures } = store.selection.value
  const page = store.series.value
  const stragglers = new Set(store.diagnosis.value?.ranks.filter(one => one.straggler).map(one => one.rank))
  if (!run) return null
  return (
    <>
      {run.ranks.length > 1 && (
        <Choice
          label={say.rank}
          value={String(rank ?? page?.rank ?? 0)}
          options={run.ranks.map(one => [String(one), say.rankOption(one, stragglers.has(one))])}
          onChoose={chosen => store.select({ rank: Number(chosen), range: WHOLE })}
        />
      )}
      {/* Another loader counts its own steps: a range of the old one means nothing to it. */}
      {run.loaders.length > 1 && (
        <Choice
          label={say.loader}
          value={loader ?? page?.loader ?? ''}
          options={run.loaders.map(one => [one.loader, one.loader])}
          onChoose={chosen => store.select({ loader: chosen, range: WHOLE })}
        />
      )}
      <FiguresChoice figures={figures} onChoose={chosen => store.select({ figures: chosen })} />
      <Spans run={run} range={range} onChoose={chosen => store.select({ range: chosen })} />
    </>
  )
}

function FiguresChoice({ figures, onChoose }: { figures: Figures; onChoose(figures: Figures): void }) {
  const offered = [
    ['mean', say.meanFigures],
    ['percentiles', say.percentiles],
  ] as const
  return (
    <fieldset class="choices small">
      <legend class="visually-hidden">{say.figures}</legend>
      {offered.map(([one, label]) => (
        <button key={one} type="button" aria-pressed={figures === one} onClick={() => onChoose(one)}>
          {label}
        </button>
      ))}
    </fieldset>
  )
}

function Spans({ run, range, onChoose }: { run: Run; range: Range; onChoose(range: Range): void }) {
  const runS = (Date.parse(run.last_seen_at) - Date.parse(run.started_at)) / 1_000
  const spans = SPANS.filter(span => runS > span.spanS * CLEARLY)
  if (spans.length === 0 && range.kind === 'whole') return null
  return (
    <fieldset class="choices small">
      <legend class="visually-hidden">{say.range}</legend>
      {spans.map(({ spanS, label }) => (
        <button
          key={spanS}
          type="button"
          aria-pressed={range.kind === 'newest' && range.spanS === spanS}
          onClick={() => onChoose({ kind: 'newest', spanS })}
        >
          {label}
        </button>
      ))}
      {range.kind === 'steps' && (
        <button type="button" aria-pressed="true">
          {say.zoomed}
        </button>
      )}
      <button type="button" aria-pressed={range.kind === 'whole'} onClick={() => onChoose(WHOLE)}>
        {say.whole}
      </button>
    </fieldset>
  )
}
