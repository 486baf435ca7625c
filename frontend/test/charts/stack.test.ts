import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { createCrosshair } from '../../src/charts/crosshair'
import type { Layer, TimePanel } from '../../src/charts/panel'
import { mountTime } from '../../src/charts/time'

type Point = readonly [x: number, y: number]

/** What a canvas is asked for, as far as these tests look at it. */
class Path {
  points: Point[]
  constructor(from?: Path) {
    this.points = [...(from?.points ?? [])]
  }
  lineTo(x: number, y: number): void {
    this.points.push([x, y])
  }
}
const areas: Path[] = []
const lines: Path[] = []
const texts = new Map<string, number>()

beforeEach(() => {
  const drawn: Record<string, unknown> = {
    fill: (area: Path) => areas.push(area),
    stroke: (path?: Path) => path && lines.push(path),
    fillText: (text: string, _: number, y: number) => texts.set(text, y),
    measureText: () => ({ width: 10 }),
  }
  const context = new Proxy(drawn, { get: (known, name) => known[name as string] ?? (() => null) })
  vi.spyOn(HTMLCanvasElement.prototype, 'getContext').mockReturnValue(
    context as unknown as CanvasRenderingContext2D,
  )
  Object.defineProperty(document, 'fonts', { value: { status: 'loaded' }, configurable: true })
  vi.stubGlobal('Path2D', Path)
})
afterEach(() => vi.unstubAllGlobals())

const layer = (label: string, values: readonly number[]): Layer => ({
  label,
  values,
  stroke: 'ink',
  fill: 'sunk',
  labelColour: 'ink',
})
const PANEL: TimePanel = {
  height: 244,
  fromS: 0,
  toS: 2,
  atS: [0, 1, 2],
  layers: [layer('wait', [10, 10, 10]), layer('compute', [2, 3, 4])],
  top: 10,
  topLabel: null,
  tick: String,
  ticks: [0, 10],
  hasTimeLabels: true,
  startLabel: 'start',
  marks: [],
}

test('stacked layers lie on one another, each named in the middle of its own part', () => {
  mountTime(document.createElement('div'), PANEL, { crosshair: createCrosshair() }).destroy()
  const heights = (path: Path | undefined) => path?.points.map(([, y]) => y) ?? []
  const [upper, lower] = areas.map(heights)
  expect(upper?.slice(3)).toEqual(heights(lines[1]).toReversed())
  expect(new Set(lower?.slice(3))).toEqual(new Set([texts.get('0') as number].map(y => y - 4)))
  const [zero, ten] = ['0', '10'].map(tick => texts.get(tick) ?? 0) as [number, number]
  const at = (value: number) => zero + ((ten - zero) * value) / 10
  expect(texts.get('wait')).toBeCloseTo(at(7))
  expect(texts.get('compute')).toBeCloseTo(at(2))
})
