/** The flame graph of a loader's stacks, with its search, as a picture and as a table. */
import { type Signal, useSignal } from '@preact/signals'
import { useMemo } from 'preact/hooks'
import type { HotspotsPage } from '../../../api/schema'
import { type Flame, flame } from '../../../charts/flame/draw'
import { again, type Bar, barsOf } from '../../../charts/flame/layout'
import { type FlameNode, flameTree, found, listed, matching, placeOf } from '../../../charts/flame/tree'
import { chart } from '../../../charts/picture'
import { formatFraction } from '../../../format'
import { flame as say } from '../../../text/hotspots'
import { Button } from '../../parts/Button'
import { Search } from '../../parts/fields'
import { type FigureColumn, type Figures, figuresOf } from '../../parts/figures'
import { Panel } from '../../parts/Panel'
import { FlameGraph, nameOf } from './FlameGraph'
import './FlamePanel.css'

/** Of all looks: less of the agent’s own work is nothing that a run would notice. */
const LEAST_OF_AGENT = 0.01

interface FlamePanelProps {
  page: HotspotsPage
  search: Signal<string>
  isFolded?: boolean
}

export function FlamePanel({ page, search, isFolded = false }: FlamePanelProps) {
  const { of, agent_fraction } = page
  const ofAgent = agent_fraction ?? 0
  const root = useMemo(() => flameTree(page), [page])
  // Both may be of an earlier reading: what they are now is found by name.
  const zoomedInto = useSignal<FlameNode | null>(null)
  const chosen = useSignal<Bar | null>(null)
  const zoomed = useMemo(() => found(root, zoomedInto.value ?? root), [root, zoomedInto.value])
  const bars = useMemo(() => barsOf(zoomed), [zoomed])
  const current = useMemo(() => again(bars, root, chosen.value), [bars, root, chosen.value])
  const matches = useMemo(() => matching(root, search.value), [root, search.value])
  const hasChosen = chosen.value !== null
  const shown: Flame = useMemo(() => {
    const name = (bar: Bar) => nameOf(bar, of)
    return { bars, root, matches, current: hasChosen ? current : null, nameOf: name }
  }, [bars, root, matches, current, hasChosen, of])

  const isWhole = zoomed === root
  function leave(): boolean {
    const wasOut = isWhole && search.value === ''
    if (isWhole) search.value = ''
    zoomedInto.value = null
    return wasOut
  }
  return (
    <Panel
      title={say.title}
      name="flame"
      isFolded={isFolded}
      isAskedFor={search.value !== ''}
      detail={say.detail}
      figures={figuresIn(root)}
      picture={() => [chart(flame({ ...shown, current: null }))]}
    >
      <div class="flame-state row screen-only">
        <Search
          label={say.search}
          typed={search}
          class="flame-search"
          onKeyDown={event => {
            if (event.key !== 'Escape' || search.value === '') return
            // The page's own Escape leaves the page.
            event.preventDefault()
            search.value = ''
          }}
        />
        <span class="detail" role="status">
          {matches && say.found(of, formatFraction(matches.samples / root.samples), matches.nodes.size)}
        </span>
        {!isWhole && (
          <Button kind="small" onClick={() => (zoomedInto.value = null)}>
            {say.all[of]}
          </Button>
        )}
      </div>
      <FlameGraph
        page={page}
        shown={shown}
        from={current}
        onMove={bar => (chosen.value = bar)}
        onZoom={node => (zoomedInto.value = node)}
        onLeave={leave}
      />
      <p class="detail flame-not-seen">
        {say.notSeen}
        {!page.has_step && page.of === 'loading' && ` ${say.noSampler}`}
        {ofAgent >= LEAST_OF_AGENT && ` ${say.ofAgent(formatFraction(ofAgent))}`}
      </p>
    </Panel>
  )
}

interface Row {
  node: FlameNode
  level: number
  /** Samples of the whole graph. */
  all: number
}

const COLUMNS: readonly FigureColumn<Row>[] = [
  { name: 'level' },
  {
    name: 'function',
    label: 'Function',
    value: ({ node }) => node.frame?.function ?? node.stage,
    format: ({ node, level }) => '\u2003'.repeat(level) + (node.frame?.function ?? node.stage),
  },
  { name: 'file', value: ({ node }) => node.frame?.file ?? null },
  { name: 'line', value: ({ node }) => node.frame?.line ?? null },
  { name: 'stage', value: ({ node }) => node.stage },
  { name: 'self_fraction', label: 'Self', unit: 'fraction', value: ({ node, all }) => node.ownSamples / all },
  { name: 'total_fraction', label: 'Total', unit: 'fraction', value: ({ node, all }) => node.samples / all },
  { name: 'samples', label: 'Looks', value: ({ node }) => node.samples },
  // Last: a long path leaves no room for figures on a phone.
  { label: 'Line', value: ({ node }) => node.frame && placeOf(node.frame) },
]

/** In the table those that were seen less often are left out. */
const LEAST_FRACTION = 0.005
const TABLE_ROWS = 200

/** Each call below what calls it. */
function figuresIn(root: FlameNode): Figures {
  const rows = (): Row[] => listed(root).map(each => ({ ...each, all: root.samples }))
  const often = ({ node }: Row) => node.samples >= LEAST_FRACTION * root.samples
  return {
    file: () => figuresOf(COLUMNS, rows()).file(),
    tables: () => figuresOf(COLUMNS, rows().filter(often).slice(0, TABLE_ROWS)).tables(),
  }
}
