/** The mounted flame graph: it is drawn, and says what the pointer is over. What is zoomed and chosen is its owner's. */
import type { Mounted } from '../mount'
import { createSurface } from '../surface'
import { barAt, type Flame, flame, outlineBar } from './draw'
import type { Bar } from './layout'

export interface FlameListener {
  onPoint(bar: Bar | null): void
  onPress(bar: Bar): void
}

export function mountFlame(element: HTMLElement, first: Flame, listener: FlameListener): Mounted<Flame> {
  let shown = first
  let drawn = flame(first)
  let pointed: Bar | null = null
  const scale = () => drawn.scale(surface.width())
  const surface = createSurface(
    element,
    () => drawn.height,
    context => {
      drawn.draw(context, scale())
      if (pointed) outlineBar(context, pointed, scale(), 'ink-3')
    },
  )
  const { canvas } = surface
  const under = ({ offsetX, offsetY }: MouseEvent) => barAt(shown.bars, scale(), offsetX, offsetY)
  function point(bar: Bar | null): void {
    if (bar === pointed) return
    pointed = bar
    canvas.style.cursor = bar ? 'pointer' : ''
    listener.onPoint(bar)
    surface.redraw()
  }
  canvas.onpointermove = event => point(under(event))
  canvas.onpointerleave = () => point(null)
  canvas.onclick = event => {
    const bar = under(event)
    if (bar) listener.onPress(bar)
  }
  surface.redraw()
  return {
    update(next) {
      if (next === shown) return
      shown = next
      drawn = flame(next)
      // What was under the pointer may lie elsewhere now.
      point(null)
      surface.redraw()
    },
    destroy: surface.destroy,
  }
}
