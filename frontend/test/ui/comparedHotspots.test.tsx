// @vitest-environment happy-dom
import { cleanup, fireEvent, render, screen } from '@testing-library/preact'
import { afterEach, describe, expect, test } from 'vitest'
import type { ComparedHotspot, ComparedRun, Comparison } from '../../src/api/schema'
import { navigate } from '../../src/router'
import { ComparedHotspots, changeText } from '../../src/ui/compare/ComparedHotspots'
import { summary } from '../made'

afterEach(() => {
  cleanup()
  navigate('/', 'replace')
})

function hotspot(changes: Partial<ComparedHotspot> = {}): ComparedHotspot {
  return {
    function: 'Image.resize',
    file: 'PIL/Image.py',
    stage: 'getitem',
    lines: [2440, 2441],
    self_fractions: [0.5, 0.2],
    total_fractions: [0.6, 0.3],
    self_us: [10_000, 2_500],
    total_us: [12_000, 3_750],
    differs: true,
    ...changes,
  }
}
const DECODE = hotspot({ function: 'decode', lines: [52, null], differs: false, self_us: [10_000, 10_000] })
const CALLER = hotspot({ function: '__getitem__', self_fractions: [0, 0.001] })

function show(hotspots: readonly ComparedHotspot[], missing: readonly (string | null)[] = [null, null]) {
  const runs = missing.map((why, place) => ({
    run: summary({ run_id: `run-${place}` }),
    label: ['slow', 'quick', 'other'][place],
    hotspots_missing: why,
  }))
  render(<ComparedHotspots {...({ runs: runs as ComparedRun[], hotspots, per: 'steps' } as Comparison)} />)
}

const rows = () =>
  [...document.querySelectorAll('tbody tr')].map(row => [...row.children].map(cell => cell.textContent))

describe('hotspots of compared runs', () => {
  test('are shown where they differ: function, share and time of each run, and the change', () => {
    show([hotspot(), DECODE])
    expect(rows()).toEqual([
      ['Image.resizePIL/Image.py:2441', 'getitem', '50% 10 ms', '20% 2.5 ms', '−7.5 ms'],
    ])
    expect([...document.querySelectorAll('thead th')].map(one => one.textContent)).toEqual([
      'Function',
      'Stage',
      'slow',
      'quick',
      'Change',
    ])
  })

  test('that differ by no more than chance are shown when asked', () => {
    show([hotspot(), DECODE])
    fireEvent.click(screen.getByRole('button', { name: 'Show 1 without a difference' }))
    expect(rows()[1]).toEqual(['decodePIL/Image.py:52', 'getitem', '50% 10 ms', '20% 10 ms', '0 µs'])
  })

  test('are those that do something themselves, or all that call them', () => {
    show([hotspot(), CALLER])
    expect(rows()).toHaveLength(1)
    fireEvent.click(screen.getByRole('button', { name: 'Total' }))
    expect(rows().map(([name]) => name)).toEqual([
      'Image.resizePIL/Image.py:2441',
      '__getitem__PIL/Image.py:2441',
    ])
  })

  test('of two programs are the few that changed most, and all when asked', () => {
    show(
      Array.from({ length: 20 }, (_, place) => hotspot({ function: `f${place}`, self_fractions: [0, 0.05] })),
    )
    expect(rows()).toHaveLength(8)
    expect(rows()[0]?.[2]).toBe('0% 10 ms')
    fireEvent.click(screen.getByRole('button', { name: 'Show all 20' }))
    expect(rows()).toHaveLength(20)
    fireEvent.click(screen.getByRole('button', { name: 'Show fewer' }))
    expect(rows()).toHaveLength(8)
  })

  test('of a run that was not sampled say why', () => {
    show([hotspot({ self_fractions: [0.5, null], self_us: [10_000, null] })], [null, 'it has no workers'])
    expect(document.querySelector('.missing')?.textContent).toBe('quick: it has no workers.')
  })

  const said = () => [...document.querySelectorAll('.missing')].map(one => one.textContent)

  test('of runs of which none was sampled are the reasons', () => {
    show([], ['off', 'it has no workers'])
    expect(said()).toEqual(['slow: off.', 'quick: it has no workers.'])
  })

  test('are none where nothing differs', () => {
    show([DECODE])
    expect(said()).toEqual(['No function differs by more than chance.'])
  })

  test('are not said to be equal where the first run was not sampled', () => {
    show([{ ...DECODE, self_fractions: [null, 0.5] }], ['off', null, null])
    expect(said()).toEqual(['slow: off.'])
  })
})

test.each([
  [[0.5, 0.2], [10_000, 2_500], '−7.5 ms'],
  [[0.2, 0.5], [2_500, 2_600], '+100 µs'],
  [[0.5, 0.28], [null, 2_500], '−22 points'],
  [[0.5, 0.512], [null, null], '+1.2 points'],
  [[0.5, 0.5], [null, null], '0.0 points'],
  [[0.5, null], [10_000, null], '–'],
] as const)('the change of shares %j and times %j is %s', (shares, times, text) => {
  expect(changeText(shares, times)).toBe(text)
})
