/** Where a chart, which knows no Preact, meets a component: its canvas is drawn again with each new picture of it. */
import type { ComponentProps } from 'preact'
import { useEffect, useLayoutEffect, useRef } from 'preact/hooks'
import { createSurface, type Drawn, type Surface } from '../../charts/surface'
import './Chart.css'

interface ChartProps extends Omit<ComponentProps<'div'>, 'class' | 'label' | 'ref'> {
  drawn: Drawn
  /** What a screen reader says instead of the picture. */
  label: string
  /** What moves with the pointer and is not drawn; must not change while mounted. Returns a function that ends it. */
  follow?(surface: Surface): () => void
}

export function Chart({ drawn, label, follow, ...attributes }: ChartProps) {
  const place = useRef<HTMLDivElement>(null)
  const surface = useRef<Surface | null>(null)

  // Before anything is painted: it would push away what is below it.
  useLayoutEffect(() => {
    const created = createSurface(place.current as HTMLDivElement, drawn)
    surface.current = created
    const unfollow = follow?.(created)
    return () => {
      unfollow?.()
      created.destroy()
    }
  }, [])
  useEffect(() => surface.current?.show(drawn), [drawn])

  return <div ref={place} class="chart" role="img" aria-label={label} {...attributes} />
}

/** Where a press or a move is, in the scale of the chart that it is on. */
export function scaleUnder(drawn: Drawn, { currentTarget }: { currentTarget: HTMLElement }) {
  return drawn.scale(currentTarget.clientWidth)
}
