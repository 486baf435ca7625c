/** The program's lines, or functions, by their share of loading. Choosing one finds it in the flame graph. */
import { type Signal, useSignal } from '@preact/signals'
import type { ComponentChildren } from 'preact'
import { address } from '../../../api/client'
import type { Caller, Hotspot, HotspotsPage } from '../../../api/schema'
import { formatFraction, formatMargin, formatNumber } from '../../../format'
import { hotspots as say, stages } from '../../../text/hotspots'
import { useFirst } from '../../parts/Button'
import { Choices } from '../../parts/Choice'
import { CodePlace } from '../../parts/CodePlace'
import { DataTable } from '../../parts/DataTable'
import { asTheyAre, type FigureColumn, figuresOf } from '../../parts/figures'
import { Menu } from '../../parts/Menu'
import { Panel } from '../../parts/Panel'
import './HotspotList.css'

/** Most that are worth a change are among these. */
const FIRST = 5

const FILED: readonly FigureColumn<Hotspot>[] = [
  ...asTheyAre<Hotspot>('function', 'file', 'line', 'stage'),
  { name: 'is_own', value: one => (one.is_own ? 1 : 0) },
  ...asTheyAre<Hotspot>('self_fraction', 'total_fraction'),
]

/** A share; by how much it may be off, `null`: not known. */
type Known = readonly [fraction: number, margin: number | null]

/** One row of either list. */
interface Place {
  name: string
  file: string
  line: number | null
  /** The first and the last of those that cannot be distinguished; `null`: it is `line`. */
  lines: readonly number[] | null
  isOwn: boolean
  /** The function that the line is in. */
  within: string | null
  stage: Hotspot['stage'] | null
  shares: readonly Known[]
  /** Where several places call it, what each has of the first share. */
  callers: readonly Caller[]
}

type By = keyof typeof say.by

interface HotspotListProps {
  page: HotspotsPage
  /** Of the run. */
  ranks: number
  /** What is looked for in the flame graph. */
  search: Signal<string>
  controls: ComponentChildren
}

export function HotspotList({ page, ranks, search, controls }: HotspotListProps) {
  const { of, loader, rank, samples } = page
  const by = useSignal<By>(page.hot_lines.length > 0 ? 'line' : 'self')
  const places = placesOf(page, by.value)
  const [shown, showAll] = useFirst(places, FIRST, say)
  return (
    <Panel
      title={say.titles[of]}
      name="hotspots"
      detail={say.detail(of, loader ?? '', say.ofRanks(rank, ranks), formatNumber(samples))}
      controls={
        <>
          {controls}
          <ByChoice by={by} />
          <StacksMenu runId={page.run_id} />
        </>
      }
      figures={{ file: figuresOf(FILED, page.hotspots).file }}
    >
      <DataTable
        caption={say.titles[of]}
        columns={headsOf(by.value)}
        class="hotspots"
        rows={shown.flatMap(place => [
          cellsOf(place, samples, search),
          ...place.callers.map(caller => calledFrom(caller, place, samples)),
        ])}
      />
      {page.order && <p class="detail">{page.order}</p>}
      {page.change && <p class="detail">{page.change}</p>}
      {showAll}
    </Panel>
  )
}

function ByChoice({ by }: { by: Signal<By> }) {
  const options = Object.entries(say.by) as [By, string][]
  return (
    <Choices
      label={say.order}
      value={by.value}
      options={options}
      small
      onChoose={next => (by.value = next)}
    />
  )
}

function placesOf({ hotspots, hot_lines: lines }: HotspotsPage, by: By): readonly Place[] {
  if (by === 'line') {
    return lines.map(({ function: within, called, file, line, lines: among = null, callers, ...share }) => {
      const seen = hotspots.filter(each => each.file === file && each.line === line)
      const [first, ...others] = new Set(seen.map(each => each.stage))
      // A helper may be called in several stages.
      const stage = others.length === 0 && first ? first : null
      const place = { file, line, lines: among, stage, isOwn: seen[0]?.is_own ?? false }
      return {
        ...place,
        name: called ?? within,
        within: called === null ? null : within,
        shares: [knownOf(share)],
        callers,
      }
    })
  }
  const share = `${by}_fraction` as const
  return hotspots
    .toSorted((one, other) => other[share] - one[share])
    .map(({ function: name, file, line, lines: among = null, stage, is_own: isOwn, callers, ...shares }) => ({
      ...{ name, file, line, lines: by === 'self' ? among : null, stage, isOwn, within: null },
      shares: [
        [shares.self_fraction, shares.self_margin_fraction ?? null],
        [shares.total_fraction, shares.total_margin_fraction ?? null],
      ] as const,
      callers: by === 'self' ? callers : [],
    }))
}

function knownOf({
  fraction,
  margin_fraction: margin = null,
}: Pick<Caller, 'fraction' | 'margin_fraction'>): Known {
  return [fraction, margin]
}

function headsOf(by: By) {
  const { columns } = say
  const shares = by === 'line' ? [[columns.share, say.lineIs] as const] : [...say.shares]
  return [
    by === 'line' ? columns.line : columns.function,
    columns.stage,
    ...shares.map(([name, is]) => (
      <span key={name} title={is}>
        {name}
      </span>
    )),
  ]
}

function cellsOf(place: Place, samples: number, search: Signal<string>) {
  const { stage, shares } = place
  return [
    <Name key="name" place={place} search={search} />,
    stage && (
      <span key="stage" title={stages[stage].is}>
        {stages[stage].name}
      </span>
    ),
    ...shares.map((share, index) => <Share key={index} share={share} samples={samples} />),
  ]
}

/** One of the places that call the function, or the one that the line is in: indented below it. */
function calledFrom({ function: name, file, line, ...share }: Caller, { shares }: Place, samples: number) {
  return [
    <div key="name" class="hotspot-caller">
      <span class="cut" title={name}>
        {say.through} <code>{name}</code>
      </span>
      <CodePlace file={file} line={line} />
    </div>,
    null,
    <Share key="share" share={knownOf(share)} samples={samples} />,
    ...shares.slice(1).map(() => null),
  ]
}

/** The whole of a long name is in its title. */
function Name({ place, search }: { place: Place; search: Signal<string> }) {
  const { name, file, line, lines, within, stage, isOwn } = place
  const isFound = search.value === name
  const title = [name, within && say.within(within), isOwn && say.own].filter(Boolean).join(', ')
  return (
    <>
      <button
        type="button"
        class={`hotspot-name cut ${isOwn && within === null ? 'strong' : ''}`}
        title={title}
        aria-pressed={isFound}
        aria-label={say.find(title)}
        onClick={() => (search.value = isFound ? '' : name)}
      >
        <code>{name}</code>
      </button>
      <CodePlace file={file} line={line} lines={lines} within={within && say.within(within, lines !== null)}>
        {stage && <span class="hotspot-stage">{stages[stage].name}</span>}
      </CodePlace>
    </>
  )
}

function Share({ share: [fraction, margin], samples }: { share: Known; samples: number }) {
  const count = formatNumber(Math.round(fraction * samples))
  return (
    <span class="hotspot-share" title={say.looks(count)}>
      <i aria-hidden="true">
        <b style={{ width: `${100 * fraction}%` }} />
      </i>
      <span>{formatFraction(fraction)}</span>
      <small>{formatMargin(margin)}</small>
    </span>
  )
}

interface StacksMenuProps {
  runId: string
  /** How often was looked, where that is too rarely for shares. */
  few?: string
}

/** All stacks of a run, of all its loaders and ranks, for other programs. */
export function StacksMenu({ runId, few }: StacksMenuProps) {
  const items = (['collapsed', 'speedscope'] as const).map(format => {
    const [label, detail] = say.formats[format]
    const asked = { path: { run_id: runId }, query: { format } }
    const href = address('/api/v1/runs/{run_id}/export', asked)
    return { label, detail: few ? say.fewLooks(few) : detail, href }
  })
  return <Menu label={say.export} title={`${say.export}: ${say.stacks}`} items={items} small />
}
