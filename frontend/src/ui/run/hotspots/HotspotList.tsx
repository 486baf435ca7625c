/** Functions by their share of loading, each with its line. Choosing one finds it in the flame graph. */
import { type Signal, useSignal } from '@preact/signals'
import type { ComponentChildren } from 'preact'
import { address } from '../../../api/client'
import type { Hotspot, HotspotsPage } from '../../../api/schema'
import { formatFraction, formatNumber } from '../../../format'
import { hotspots as say, stages } from '../../../text/hotspots'
import { Button } from '../../parts/Button'
import { Choices } from '../../parts/Choice'
import { CodePlace } from '../../parts/CodePlace'
import { DataTable } from '../../parts/DataTable'
import { type FigureColumn, figuresOf } from '../../parts/figures'
import { Menu } from '../../parts/Menu'
import { Panel } from '../../parts/Panel'
import { marginText } from './share'
import './HotspotList.css'

/** Most that are worth a change are among these. */
const FIRST = 7

const FILED: readonly FigureColumn<Hotspot>[] = [
  { name: 'function' },
  { name: 'file' },
  { name: 'line' },
  { name: 'stage' },
  { name: 'is_own', value: one => (one.is_own ? 1 : 0) },
  { name: 'self_fraction' },
  { name: 'total_fraction' },
]

const ORDERS = {
  self_fraction: [say.columns.self, say.selfIs],
  total_fraction: [say.columns.total, say.totalIs],
} as const

type Order = keyof typeof ORDERS

interface HotspotListProps {
  page: HotspotsPage
  /** Of the run. */
  ranks: number
  /** What is looked for in the flame graph. */
  search: Signal<string>
  controls: ComponentChildren
}

export function HotspotList({ page, ranks, search, controls }: HotspotListProps) {
  const order = useSignal<Order>('self_fraction')
  const showsAll = useSignal(false)
  const { of, loader, rank, samples } = page
  const ranked = page.hotspots.toSorted((one, other) => other[order.value] - one[order.value])
  const shown = showsAll.value ? ranked : ranked.slice(0, FIRST)
  return (
    <Panel
      title={say.titles[of]}
      name="hotspots"
      detail={say.detail(of, loader ?? '', say.ofRanks(rank, ranks), formatNumber(samples))}
      controls={
        <>
          {controls}
          <OrderChoice order={order} />
          <Menu label={say.export} title={`${say.export}: ${say.stacks}`} items={exportsOf(page)} small />
        </>
      }
      figures={{ file: figuresOf(FILED, ranked).file }}
    >
      <DataTable
        caption={say.titles[of]}
        columns={[
          say.columns.function,
          say.columns.stage,
          ...Object.values(ORDERS).map(([name, is]) => <span title={is}>{name}</span>),
        ]}
        class="hotspots"
        rows={shown.map(hotspot => cellsOf(hotspot, samples, search))}
      />
      {ranked.length > FIRST && (
        <Button kind="small" onClick={() => (showsAll.value = !showsAll.value)}>
          {showsAll.value ? say.fewer : say.all(ranked.length)}
        </Button>
      )}
    </Panel>
  )
}

function OrderChoice({ order }: { order: Signal<Order> }) {
  const options = Object.entries(ORDERS) as [Order, (typeof ORDERS)[Order]][]
  return (
    <Choices
      label={say.order}
      value={order.value}
      options={options.map(([fraction, [name]]) => [fraction, name])}
      small
      onChoose={chosen => (order.value = chosen)}
    />
  )
}

function cellsOf(hotspot: Hotspot, samples: number, search: Signal<string>) {
  const { stage, self_fraction: own, total_fraction: total } = hotspot
  return [
    <Name hotspot={hotspot} search={search} />,
    <span title={stages[stage].is}>{stages[stage].name}</span>,
    <Share fraction={own} samples={samples} />,
    <Share fraction={total} samples={samples} />,
  ]
}

/** The whole of a long name is in its title. */
function Name({ hotspot, search }: { hotspot: Hotspot; search: Signal<string> }) {
  const { function: name, file, line, stage, is_own: isOwn = false } = hotspot
  const isFound = search.value === name
  const title = isOwn ? `${name} (${say.own})` : name
  return (
    <>
      <button
        type="button"
        class={`hotspot-name cut ${isOwn ? 'strong' : ''}`}
        title={title}
        aria-pressed={isFound}
        aria-label={say.find(title)}
        onClick={() => (search.value = isFound ? '' : name)}
      >
        <code>{name}</code>
      </button>
      <CodePlace file={file} line={line}>
        <span class="hotspot-stage">{stages[stage].name}</span>
      </CodePlace>
    </>
  )
}

function Share({ fraction, samples }: { fraction: number; samples: number }) {
  const count = formatNumber(Math.round(fraction * samples))
  return (
    <span class="hotspot-share" title={say.samples(count)}>
      <i aria-hidden="true">
        <b style={{ width: `${100 * fraction}%` }} />
      </i>
      <span>{formatFraction(fraction)}</span>
      <small>{say.margin(marginText(fraction, samples))}</small>
    </span>
  )
}

/** Of all loaders and ranks. */
function exportsOf({ run_id }: HotspotsPage) {
  return (['collapsed', 'speedscope'] as const).map(format => {
    const [label, detail] = say.formats[format]
    const asked = { path: { run_id }, query: { format } }
    return { label, detail, href: address('/api/v1/runs/{run_id}/export', asked) }
  })
}
