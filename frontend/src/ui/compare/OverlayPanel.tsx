/** All compared runs over one axis: which metric and along what stands in the address. */
import { useMemo } from 'preact/hooks'
import type { Comparison, SeriesPage } from '../../api/names'
import {
  type Along,
  axesOf,
  drawnBy,
  longest,
  OVERLAYS,
  type OverlayChart,
  type OverlayMetric,
  overlayChart,
  tellPosition,
} from '../../charts/declared/compare'
import { navigate, withQuery } from '../../router'
import { compare as say } from '../../text'
import { ChartGroup, chartBlocks } from '../parts/ChartGroup'
import { Choice } from '../parts/Choice'
import { type Figures, figuresOver } from '../parts/figures'
import { Panel } from '../parts/Panel'
import { RunSwatch } from './RunSwatch'

interface OverlayPanelProps {
  comparison: Comparison
  series: ReadonlyMap<string, SeriesPage>
  query: URLSearchParams
}

export function OverlayPanel({ comparison, series, query }: OverlayPanelProps) {
  const { per } = comparison
  const { metric, along } = drawnBy(query, per)
  const chart = useMemo(
    () => overlayChart(comparison, series, metric, along),
    [comparison, series, metric, along],
  )
  if (series.size === 0) return null
  const { drawn, quantities, across, left } = chart
  return (
    <Panel
      title={say.overlay}
      name="overlay"
      controls={<Controls metric={metric} along={along} per={per} query={query} />}
      figures={drawn ? figuresBehind(chart) : undefined}
      picture={() => chartBlocks([chart])}
    >
      {per === 'samples' && <p class="detail">{say.bySample}</p>}
      {drawn && (
        <ChartGroup
          charts={[chart]}
          quantities={quantities}
          across={across}
          at={longest(chart)}
          told={at => say.at[along](tellPosition(chart, at))}
          otherwise={quantities.map(({ label, place }) => (
            <span key={label} class="with-glyph overlay-name">
              <RunSwatch place={place} />
              {label}
            </span>
          ))}
        />
      )}
      {left.map(reason => (
        <p key={reason} class="missing">
          {reason}
        </p>
      ))}
    </Panel>
  )
}

interface ControlsProps {
  metric: OverlayMetric
  along: Along
  per: Comparison['per']
  query: URLSearchParams
}

function Controls({ metric, along, per, query }: ControlsProps) {
  const change = (key: string, value: string | null) =>
    navigate(location.pathname + withQuery(query, { [key]: value }), 'replace')
  return (
    <>
      <Choice
        label={say.metric}
        value={metric}
        options={OVERLAYS.map(one => [one.metric, one.label])}
        onChoose={chosen => change('metric', chosen)}
      />
      <fieldset class="choices small">
        <legend class="visually-hidden">{say.axis}</legend>
        {axesOf(per).map(one => (
          <button key={one} type="button" aria-pressed={one === along} onClick={() => change('by', one)}>
            {say.axes[one]}
          </button>
        ))}
      </fieldset>
    </>
  )
}

/** To be read, a column a run at the positions of the longest; in the file, each run's own positions below one another. */
function figuresBehind(chart: OverlayChart): Figures {
  const { along, quantities } = chart
  const first = along === 'time' ? 'at_s' : along
  const { tables } = figuresOver(longest(chart), quantities, {
    name: first,
    label: say.axes[along],
    told: at => tellPosition(chart, at),
  })
  return {
    tables,
    file: () => ({
      columns: ['run', first, quantities[0]?.name ?? ''],
      rows: quantities.flatMap(({ label, at, values }) =>
        at.map((position, index) => [label, position, values[index] ?? null]),
      ),
    }),
  }
}
