/** All compared runs over one axis: which metric and along what stands in the address. */
import { useSignal } from '@preact/signals'
import { useEffect, useMemo } from 'preact/hooks'
import type { Comparison, SeriesPage } from '../../api/names'
import { createCrosshair } from '../../charts/crosshair'
import { mountOverlay, type Overlay } from '../../charts/overlay'
import type { Table } from '../../csv'
import { navigate, withQuery } from '../../router'
import { thinned } from '../../store/columns'
import { METRICS, type OverlayMetric } from '../../store/compare'
import { compare as say } from '../../text/compare'
import { Chart } from '../parts/Chart'
import { Choice } from '../parts/Choice'
import { CrosshairSlider } from '../parts/CrosshairSlider'
import { DataTable } from '../parts/DataTable'
import { Panel } from '../parts/Panel'
import { type Axis, axesOf, drawnBy, formatMetric, lineAt, overlayOf, overlayReadout } from './overlays'
import { RunSwatch } from './RunSwatch'
import './OverlayPanel.css'

interface OverlayPanelProps {
  comparison: Comparison
  series: ReadonlyMap<string, SeriesPage>
  query: URLSearchParams
}

const ROWS = 24

export function OverlayPanel({ comparison, series, query }: OverlayPanelProps) {
  const { per } = comparison
  const { metric, axis } = drawnBy(query, per)
  const drawn = useMemo(() => overlayOf(comparison, series, metric, axis), [comparison, series, metric, axis])
  if (series.size === 0) return null
  const { overlay, missing } = drawn
  return (
    <Panel
      title={say.overlay}
      name="overlay"
      controls={<Controls metric={metric} axis={axis} per={per} query={query} />}
      table={overlay ? () => <Rows overlay={overlay} metric={metric} axis={axis} /> : undefined}
      csv={overlay ? () => figures(overlay, metric, axis) : undefined}
    >
      {per === 'samples' && <p class="detail">{say.bySample}</p>}
      {overlay && <Drawing overlay={overlay} metric={metric} axis={axis} />}
      {missing.map(reason => (
        <p key={reason} class="missing">
          {reason}
        </p>
      ))}
    </Panel>
  )
}

interface ControlsProps {
  metric: OverlayMetric
  axis: Axis
  per: Comparison['per']
  query: URLSearchParams
}

function Controls({ metric, axis, per, query }: ControlsProps) {
  const change = (key: string, value: string | null) =>
    navigate(location.pathname + withQuery(query, { [key]: value }), 'replace')
  return (
    <>
      <Choice
        label={say.metric}
        value={metric}
        options={METRICS.map(one => [one, say.metrics[one]])}
        onChoose={chosen => change('metric', chosen)}
      />
      <fieldset class="choices small">
        <legend class="visually-hidden">{say.axis}</legend>
        {axesOf(per).map(one => (
          <button key={one} type="button" aria-pressed={one === axis} onClick={() => change('by', one)}>
            {say.axes[one]}
          </button>
        ))}
      </fieldset>
    </>
  )
}

interface DrawnProps {
  overlay: Overlay
  metric: OverlayMetric
  axis: Axis
}

function Drawing({ overlay, metric, axis }: DrawnProps) {
  const crosshair = useMemo(createCrosshair, [])
  const pointed = useSignal<string | null>(null)
  useEffect(
    () =>
      crosshair.subscribe(at => {
        pointed.value = at === null ? null : overlayReadout(overlay, metric, axis, at)
      }),
    [crosshair, pointed, overlay, metric, axis],
  )
  const ends = overlay.lines.map(each => {
    const last = each.values.findLast(value => value !== null) ?? null
    return `${each.label} ${formatMetric(metric, last)}`
  })
  return (
    <>
      <p class="detail readout">
        {pointed.value ??
          overlay.lines.map(each => (
            <span key={each.label} class="with-glyph overlay-name">
              <RunSwatch place={each.place} />
              {each.label}
            </span>
          ))}
      </p>
      <div class="charts">
        <Chart
          mount={(element: HTMLElement, first: Overlay) => mountOverlay(element, first, crosshair)}
          data={overlay}
          label={`${say.metrics[metric]}: ${ends.join(', ')}`}
        />
        <CrosshairSlider
          crosshair={crosshair}
          frame={{ fromS: 0, toS: overlay.to }}
          steps={{ atS: longest(overlay) }}
          pointed={pointed}
        />
      </div>
    </>
  )
}

/** Positions of the run that reaches farthest: the others' lie among them. */
function longest({ lines }: Overlay): readonly number[] {
  return lines.reduce<readonly number[]>(
    (best, { at }) => ((at.at(-1) ?? 0) > (best.at(-1) ?? -1) ? at : best),
    [],
  )
}

function Rows({ overlay, metric, axis }: DrawnProps) {
  const positions = longest(overlay)
  const rows = thinned(positions.length, ROWS).map(index => {
    const at = positions[index] ?? 0
    return [
      axis === 'epoch' ? at.toFixed(1) : overlay.label(Math.round(at)),
      ...overlay.lines.map(each => formatMetric(metric, lineAt(each, at) ?? null)),
    ]
  })
  const columns = [say.axes[axis], ...overlay.lines.map(each => each.label)]
  return <DataTable caption={say.metrics[metric]} columns={columns} rows={rows} isNumeric />
}

function figures(overlay: Overlay, metric: OverlayMetric, axis: Axis): Table {
  return {
    columns: ['run', axis === 'time' ? 'at_s' : axis, metric],
    rows: overlay.lines.flatMap(each =>
      each.at.map((at, index) => [each.label, at, each.values[index] ?? null]),
    ),
  }
}
