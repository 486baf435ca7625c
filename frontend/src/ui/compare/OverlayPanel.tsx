/** All compared runs over one axis: the address holds the metric and the axis. */
import { useMemo } from 'preact/hooks'
import type { Comparison, SeriesPage } from '../../api/schema'
import {
  type Along,
  axesOf,
  drawnBy,
  OVERLAYS,
  type Overlay,
  type OverlayMetric,
  overlayOf,
} from '../../charts/declared/compare'
import type { Table } from '../../csv'
import { navigate, route, withQuery } from '../../router'
import { compare as say } from '../../text/compare'
import { ChartPanel } from '../parts/ChartPanel'
import { Choice, Choices } from '../parts/Choice'
import { RunSwatch } from './RunSwatch'
import './OverlayPanel.css'

interface OverlayPanelProps {
  comparison: Comparison
  series: ReadonlyMap<string, SeriesPage>
}

export function OverlayPanel({ comparison, series }: OverlayPanelProps) {
  const { per } = comparison
  const { metric, along } = drawnBy(route.value.query, per)
  const set = useMemo(() => overlayOf(comparison, series, metric, along), [comparison, series, metric, along])
  if (series.size === 0) return null
  return (
    <ChartPanel
      set={set}
      title={say.overlay}
      name="overlay"
      controls={<Controls metric={metric} along={along} per={per} />}
      file={() => fileOf(set)}
      otherwise={set.quantities.map(({ label, place }) => (
        <span key={label} class="with-glyph overlay-name quiet">
          <RunSwatch place={place} />
          {label}
        </span>
      ))}
      notes={per === 'samples' && <p class="detail">{say.bySample}</p>}
    >
      {set.left.map(reason => (
        <p key={reason} class="missing">
          {reason}
        </p>
      ))}
    </ChartPanel>
  )
}

interface ControlsProps {
  metric: OverlayMetric
  along: Along
  per: Comparison['per']
}

function Controls({ metric, along, per }: ControlsProps) {
  const change = (key: string, value: string | null) =>
    navigate(location.pathname + withQuery({ [key]: value }), 'replace')
  return (
    <>
      <Choice
        label={say.metric}
        value={metric}
        options={OVERLAYS.map(one => [one.metric, one.label])}
        onChoose={chosen => change('metric', chosen)}
      />
      <Choices
        label={say.axis}
        value={along}
        options={axesOf(per).map(one => [one, say.axes[one]])}
        small
        onChoose={chosen => change('by', chosen)}
      />
    </>
  )
}

/** One run after the other: each has positions of its own. */
function fileOf({ quantities, position }: Overlay): Table {
  return {
    columns: ['run', position.name, quantities[0]?.name ?? ''],
    rows: quantities.flatMap(({ label, at, values }) =>
      at.map((here, index) => [label, here, values[index] ?? null]),
    ),
  }
}
