/** The graph itself: walked through by the arrow keys, zoomed by Enter or a press, left by Escape; and where the reader is. */
import { useSignal } from '@preact/signals'
import type { TargetedMouseEvent } from 'preact'
import { useEffect, useId, useMemo, useRef } from 'preact/hooks'
import type { HotspotsPage } from '../../../api/schema'
import { barAt, type Flame, flame, ROW } from '../../../charts/flame/draw'
import { type Bar, neighbour, rowWith } from '../../../charts/flame/layout'
import { type FlameNode, placeOf } from '../../../charts/flame/tree'
import { formatFraction, formatNumber } from '../../../format'
import { flame as say, stages } from '../../../text/hotspots'
import { Chart, scaleUnder } from '../../parts/Chart'
import './FlameGraph.css'

interface FlameGraphProps {
  page: HotspotsPage
  /** Must not change while it stays the same: it is drawn anew. */
  shown: Flame
  /** Where the arrow keys begin. */
  from: Bar
  onMove(bar: Bar): void
  onZoom(node: FlameNode): void
  /** Returns whether there was nothing left to leave. */
  onLeave(): boolean
}

export function FlameGraph({ page, shown, from, onMove, onZoom, onLeave }: FlameGraphProps) {
  const tree = useRef<HTMLDivElement>(null)
  const pointed = useSignal<Bar | null>(null)
  const drawn = useMemo(() => flame({ ...shown, pointed: pointed.value }), [shown, pointed.value])
  const under = (event: TargetedMouseEvent<HTMLElement>) =>
    barAt(shown.bars, scaleUnder(drawn, event), event.offsetX, event.offsetY)
  function press(bar: Bar | null): void {
    if (!bar) return
    // Getting the focus is a move, too.
    tree.current?.focus({ preventScroll: true })
    onMove(bar)
    onZoom(bar.node)
  }
  useEffect(() => {
    // What was under the pointer may lie elsewhere now.
    pointed.value = null
  }, [shown, pointed])
  useEffect(() => reveal(tree.current, from), [from])

  function onKeyDown(event: KeyboardEvent): void {
    if (event.ctrlKey || event.metaKey || event.altKey) return
    const next = neighbour(shown.bars, from, event.key)
    if (next) onMove(next)
    else if (event.key === 'Enter' || event.key === ' ') onZoom(from.node)
    else if (event.key === 'Escape') {
      if (onLeave()) tree.current?.blur()
    } else if (!event.key.startsWith('Arrow')) return
    event.preventDefault()
  }

  const item = useId()
  const here = pointed.value ?? shown.current
  return (
    <>
      <div
        ref={tree}
        class="flame"
        role="tree"
        tabIndex={0}
        aria-label={say.label(page.of, page.loader ?? '', formatNumber(page.samples))}
        aria-activedescendant={item}
        onFocus={() => onMove(from)}
        onKeyDown={onKeyDown}
      >
        <div aria-hidden="true">
          <Chart
            drawn={drawn}
            label=""
            style={{ cursor: pointed.value ? 'pointer' : '' }}
            onPointerMove={event => (pointed.value = under(event))}
            onPointerLeave={() => (pointed.value = null)}
            onClick={event => press(under(event))}
          />
        </div>
        <Item id={item} bar={from} bars={shown.bars} page={page} />
      </div>
      <p class="detail flame-readout screen-only">{here ? inWords(here, page) : say.hint}</p>
    </>
  )
}

interface ItemProps {
  id: string
  bar: Bar
  bars: readonly Bar[]
  page: HotspotsPage
}

/** What a screen reader gets of the tree: the one item that the reader has come to, and its place. */
function Item({ id, bar, bars, page }: ItemProps) {
  const siblings = rowWith(bars, bar)
  return (
    <div
      id={id}
      class="visually-hidden"
      role="treeitem"
      tabIndex={-1}
      aria-level={bar.level + 1}
      aria-setsize={siblings.length}
      aria-posinset={siblings.indexOf(bar) + 1}
      aria-expanded={neighbour(bars, bar, 'ArrowDown') ? true : undefined}
    >
      {inWords(bar, page)}
    </div>
  )
}

/** A graph of many rows scrolls: the row that the reader has come to is shown. */
function reveal(element: HTMLElement | null, { level }: Bar): void {
  if (!element) return
  const highest = level * ROW
  const lowest = highest + ROW - element.clientHeight
  element.scrollTop = Math.max(lowest, Math.min(highest, element.scrollTop))
}

/** What is written into a bar. */
export function nameOf({ node, rest }: Bar, of: HotspotsPage['of']): string {
  if (rest.length > 0) return say.rest(rest.length)
  if (node.stage === null) return say.all[of]
  return node.frame ? node.frame.function : say.stage(stages[node.stage].name, stages[node.stage].is)
}

function inWords(bar: Bar, { of, samples: all }: HotspotsPage): string {
  const { node, rest, samples } = bar
  const share = say.share(of, formatFraction(samples / all))
  const own = formatFraction(node.ownSamples / all)
  if (rest.length > 0) return [say.restOf(rest.length, nameOf({ ...bar, rest: [] }, of)), share].join(' · ')
  if (node.frame) return [node.frame.function, placeOf(node.frame), share, say.own(own)].join(' · ')
  if (node.stage === null) return [say.all[of], say.looks(formatNumber(all))].join(' · ')
  return [nameOf(bar, of), share, ...(node.ownSamples > 0 ? [say.notKept(own)] : [])].join(' · ')
}
