/** Which rank, how much of the run: each offered only where there is a choice. */
import type { Run } from '../../api/schema'
import { WHOLE } from '../../store/permalink'
import type { Range, RunStore } from '../../store/run'
import { charts as say } from '../../text/charts'
import { Choice, Choices } from '../parts/Choice'
import { ageS } from '../parts/When'

/** In seconds; offered where they are clearly shorter than the run. */
const SPANS = [
  ['900', '15 min'],
  ['3600', '1 h'],
] as const
const CLEARLY = 1.2

const FIGURES = [
  ['mean', say.meanFigures],
  ['percentiles', say.percentiles],
] as const

export function RangeChoice({ store }: { store: RunStore }) {
  const run = store.run.value
  const { rank, range, figures } = store.selection.value
  const page = store.series.value
  const stragglers = new Set(store.shown.value?.ranks.filter(one => one.straggler).map(one => one.rank))
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
      <Choices
        label={say.figures}
        value={figures}
        options={FIGURES}
        small
        onChoose={chosen => store.select({ figures: chosen })}
      />
      <Spans run={run} range={range} onChoose={chosen => store.select({ range: chosen })} />
    </>
  )
}

function Spans({ run, range, onChoose }: { run: Run; range: Range; onChoose(range: Range): void }) {
  // What was recorded while no service was reached is seen long after the run.
  const spans = SPANS.filter(([spanS]) => ageS(run) > Number(spanS) * CLEARLY)
  const { kind } = range
  if (spans.length === 0 && kind === 'whole') return null
  const zoomed = ['steps', say.zoomed] as const
  return (
    <Choices<string>
      label={say.range}
      value={kind === 'newest' ? String(range.spanS) : kind}
      options={[...spans, ...(kind === 'steps' ? [zoomed] : []), ['whole', say.whole]]}
      small
      onChoose={chosen => {
        if (chosen === 'whole') onChoose(WHOLE)
        else if (chosen !== 'steps') onChoose({ kind: 'newest', spanS: Number(chosen) })
      }}
    />
  )
}
