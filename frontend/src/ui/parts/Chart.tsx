/** Where a chart, which knows no Preact, meets a component: mounted once, updated with each new data. */
import { useEffect, useLayoutEffect, useRef } from 'preact/hooks'
import type { Mounted } from '../../charts/mount'
import './Chart.css'

interface ChartProps<T, H extends Mounted<T>> {
  /** Must not change while mounted. */
  mount(element: HTMLElement, data: T): H
  data: T
  /** What a screen reader says instead of the picture. */
  label: string
  onMounted?(handle: H): void
}

export function Chart<T, H extends Mounted<T>>({ mount, data, label, onMounted }: ChartProps<T, H>) {
  const place = useRef<HTMLDivElement>(null)
  const handle = useRef<H | null>(null)

  // Mounted once, before anything is painted: it would push away what is below it. New data goes through update.
  useLayoutEffect(() => {
    const mounted = mount(place.current as HTMLDivElement, data)
    handle.current = mounted
    onMounted?.(mounted)
    return () => {
      handle.current = null
      mounted.destroy()
    }
  }, [])
  useEffect(() => handle.current?.update(data), [data])

  return <div ref={place} class="chart" role="img" aria-label={label} />
}
