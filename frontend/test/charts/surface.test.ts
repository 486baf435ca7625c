// @vitest-environment happy-dom
import { signal } from '@preact/signals'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { repaint } from '../../src/charts/palette'
import { follow } from '../../src/charts/pointing'
import { createSurface, type Drawn } from '../../src/charts/surface'
import { recordCanvas } from './recording'

/** The browser's, as far as a chart asks it. */
let reportNear: (isNear: boolean) => void
const drawn: string[] = []
const SCALE = { width: 2, left: 0, right: 1, top: 0, bottom: 1, x: () => 0, y: () => 0, at: () => null }
const called = (name: string): Drawn => ({ height: 100, scale: () => SCALE, draw: () => drawn.push(name) })
const [FIRST, SECOND, THIRD] = [called('first'), called('second'), called('third')]

beforeEach(() => {
  drawn.length = 0
  recordCanvas()
  vi.stubGlobal(
    'IntersectionObserver',
    class {
      constructor(changed: (entries: { isIntersecting: boolean }[]) => void) {
        reportNear = isIntersecting => changed([{ isIntersecting }])
      }
      observe(): void {}
      disconnect(): void {}
    },
  )
})
afterEach(() => vi.unstubAllGlobals())

const mounted = () => createSurface(document.createElement('div'), FIRST)

test('a chart is drawn with each new data, and not again with the same', () => {
  const chart = mounted()
  chart.show(FIRST)
  chart.show(SECOND)
  chart.show(SECOND)
  expect(drawn).toEqual(['first', 'second'])
  chart.destroy()
})

test('a chart off the screen is drawn when it comes near, with the newest data, and once', () => {
  const chart = mounted()
  reportNear(false)
  chart.show(SECOND)
  chart.show(THIRD)
  expect(drawn).toEqual(['first'])
  reportNear(true)
  reportNear(true)
  expect(drawn).toEqual(['first', 'third'])
  chart.destroy()
})

test('another theme, and paper, draw also what is off the screen', () => {
  const chart = mounted()
  reportNear(false)
  chart.show(SECOND)
  repaint()
  expect(drawn).toEqual(['first', 'second'])
  reportNear(true)
  expect(drawn).toEqual(['first', 'second'])
  chart.destroy()
})

describe('the pointer', () => {
  const WIDE = {
    ...SCALE,
    width: 120,
    left: 10,
    right: 110,
    x: (at: number) => 10 + at,
    at: (x: number) => x - 10,
  }
  const pointed = (onZoom?: (from: number, to: number) => void) => {
    const crosshair = signal<number | null>(null)
    const element = document.createElement('div')
    const chart = createSurface(element, { ...FIRST, scale: () => WIDE })
    const unfollow = follow(chart, crosshair, onZoom)
    const { canvas } = chart
    canvas.setPointerCapture = () => {}
    const at = (name: 'onpointerdown' | 'onpointermove' | 'onpointerup', offsetX: number) =>
      canvas[name]?.({ offsetX, button: 0, pointerId: 1 } as PointerEvent)
    return { crosshair, element, canvas, at, chart, unfollow }
  }

  test('moves the crosshair of all charts, and takes it along when it leaves', () => {
    const { crosshair, element, canvas, at } = pointed()
    const mark = element.querySelector('.crosshair') as HTMLElement
    expect(mark.hidden).toBe(true)
    at('onpointermove', 40)
    expect([crosshair.value, mark.hidden, mark.style.left]).toEqual([30, false, '40px'])
    crosshair.value = 60
    expect(mark.style.left).toBe('70px')
    canvas.onpointerleave?.({} as PointerEvent)
    expect([crosshair.value, mark.hidden]).toEqual([null, true])
  })

  test('chooses a span by dragging either way, cut at the edges; a click chooses none', () => {
    const chosen = vi.fn()
    const { at } = pointed(chosen)
    at('onpointerdown', 60)
    at('onpointerup', 63)
    expect(chosen).not.toHaveBeenCalled()
    at('onpointerdown', 60)
    at('onpointermove', 30)
    at('onpointerup', 30)
    expect(chosen).toHaveBeenLastCalledWith(20, 50)
    at('onpointerdown', 60)
    at('onpointerup', 500)
    expect(chosen).toHaveBeenLastCalledWith(50, 100)
  })

  test('does nothing to a chart that was taken away', () => {
    const { crosshair, element, chart, unfollow } = pointed()
    unfollow()
    chart.destroy()
    crosshair.value = 30
    expect(element.children).toHaveLength(0)
  })
})
