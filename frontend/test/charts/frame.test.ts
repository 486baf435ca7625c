import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { createCrosshair } from '../../src/charts/crosshair'
import { type Drawing, mountDrawing } from '../../src/charts/drawing'
import { repaint } from '../../src/charts/palette'

/** The browser's, as far as a chart asks it. */
let tellNear: (isNear: boolean) => void
const drawn: string[] = []
const DRAWING: Drawing<string> = {
  height: () => 100,
  scale: () => ({ left: 0, right: 1, top: 0, bottom: 1, x: () => 0, y: () => 0, atS: () => null }),
  draw: (_, data) => drawn.push(data),
}

beforeEach(() => {
  drawn.length = 0
  const context = { reset: vi.fn(), scale: vi.fn() } as unknown as CanvasRenderingContext2D
  vi.spyOn(HTMLCanvasElement.prototype, 'getContext').mockReturnValue(context)
  Object.defineProperty(document, 'fonts', { value: { status: 'loaded' }, configurable: true })
  vi.stubGlobal(
    'IntersectionObserver',
    class {
      constructor(changed: (entries: { isIntersecting: boolean }[]) => void) {
        tellNear = isIntersecting => changed([{ isIntersecting }])
      }
      observe(): void {}
      disconnect(): void {}
    },
  )
})
afterEach(() => vi.unstubAllGlobals())

const mounted = () =>
  mountDrawing(document.createElement('div'), 'first', DRAWING, { crosshair: createCrosshair() })

test('a chart is drawn with each new data, and not again with the same', () => {
  const chart = mounted()
  chart.update('first')
  chart.update('second')
  chart.update('second')
  expect(drawn).toEqual(['first', 'second'])
  chart.destroy()
})

test('a chart off the screen is drawn when it comes near, with the newest data, and once', () => {
  const chart = mounted()
  tellNear(false)
  chart.update('second')
  chart.update('third')
  expect(drawn).toEqual(['first'])
  tellNear(true)
  tellNear(true)
  expect(drawn).toEqual(['first', 'third'])
  chart.destroy()
})

test('another theme, and paper, draw also what is off the screen', () => {
  const chart = mounted()
  tellNear(false)
  chart.update('second')
  repaint()
  expect(drawn).toEqual(['first', 'second'])
  tellNear(true)
  expect(drawn).toEqual(['first', 'second'])
  chart.destroy()
})
