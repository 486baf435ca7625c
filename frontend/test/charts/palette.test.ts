import { expect, test, vi } from 'vitest'

test('charts are drawn again on each screen of another sharpness', async () => {
  const queries: { query: string; changed: () => void }[] = []
  vi.stubGlobal('devicePixelRatio', 1)
  vi.stubGlobal('matchMedia', (query: string) => ({
    addEventListener: (_: string, changed: () => void) => queries.push({ query, changed }),
  }))
  vi.resetModules()
  const { onRepaint } = await import('../../src/charts/palette')
  const redraw = vi.fn()
  onRepaint(redraw)
  const newest = () => queries.filter(({ query }) => query.includes('resolution')).at(-1)
  expect(newest()?.query).toBe('(resolution: 1dppx)')
  vi.stubGlobal('devicePixelRatio', 2)
  newest()?.changed()
  expect(redraw).toHaveBeenCalledTimes(1)
  expect(newest()?.query).toBe('(resolution: 2dppx)')
  vi.stubGlobal('devicePixelRatio', 1.5)
  newest()?.changed()
  expect(redraw).toHaveBeenCalledTimes(2)
  vi.unstubAllGlobals()
})
