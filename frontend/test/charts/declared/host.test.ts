// @vitest-environment node
import { beforeAll, expect, test } from 'vitest'
import type { HostHistory } from '../../../src/api/schema'
import { readoutAt } from '../../../src/charts/declared/declaration'
import { hostCharts, spoken } from '../../../src/charts/declared/host'
import { record, stubBrowser } from '../recording'

beforeAll(stubBrowser)

const MIB = 1024 ** 2
const WIDTH = 1_000 + 54 + 84
const history: HostHistory = {
  hostname: 'gpu-03',
  from_at: '2026-11-21T10:00:00Z',
  to_at: '2026-11-21T10:00:04Z',
  bucket_us: 1_000_000,
  usable_cores: 8,
  memory_limit_bytes: 100,
  shm_total_bytes: null,
  runs: [],
  series: [
    { metric: 'own_cores', unit: 'cores', values: [null, 2, 2, null], missing: null },
    { metric: 'other_cores', unit: 'cores', values: [null, 1, 3, null], missing: null },
    { metric: 'memory_used_bytes', unit: 'bytes', values: [50, 50, 50, null], missing: null },
    {
      metric: 'disk_read_bytes_per_s',
      unit: 'bytes_per_s',
      values: [null, null, null, null],
      missing: 'no disk',
    },
  ],
}

const CLOCK = { originMs: Date.parse('2026-11-21T09:59:50Z') }
const host = hostCharts(history, CLOCK)
const chartNamed = (title: string, of = host) => {
  const found = of.charts.find(chart => chart.title === title)
  if (!found) throw new Error(`no chart ${title}`)
  return found
}
const drawn = (title: string, of = host) => {
  const { drawn } = chartNamed(title, of)
  if (!drawn) throw new Error(`${title} is not drawn`)
  return { ...record(drawn, WIDTH), scale: drawn.scale(WIDTH), recording: record(drawn, WIDTH) }
}

test('it stands on the axis of the run', () => {
  expect([host.across.from, host.across.to, host.at]).toEqual([10, 14, [10, 11, 12, 13]])
})

test("others' cores lie on those of runs, and what is not known is a gap", () => {
  const { recording, scale } = drawn('Cores in use')
  const [others] = recording.strokes('load-runqueue')
  const [own] = recording.strokes('compute')
  expect(others?.points).toEqual([
    [scale.x(11), scale.y(3)],
    [scale.x(12), scale.y(5)],
  ])
  expect(own?.points).toEqual([
    [scale.x(11), scale.y(2)],
    [scale.x(12), scale.y(2)],
  ])
})

test('the cores that runs may use are the upper edge, unless more were busy', () => {
  expect(drawn('Cores in use').scale.y(8)).toBe(drawn('Cores in use').scale.top)
  const few = hostCharts({ ...history, usable_cores: 4 }, CLOCK)
  expect(drawn('Cores in use', few).scale.y(5)).toBe(drawn('Cores in use', few).scale.top)
})

test('without the cores of runs, those of others are not drawn as if they were all', () => {
  const [own, ...series] = history.series
  if (!own) throw new Error('no series')
  const unknown = { ...own, values: [null, null, null, null], missing: 'no run reports' }
  const cores = chartNamed('Cores in use', hostCharts({ ...history, series: [unknown, ...series] }, CLOCK))
  expect([cores.drawn, cores.missing]).toEqual([null, 'no run reports'])
})

test('memory is a share of its limit, and a quantity that was not measured gives its reason', () => {
  const { recording, scale } = drawn('Memory and /dev/shm')
  expect(recording.strokes('compute')[0]?.points.map(([, y]) => y)).toEqual(Array(3).fill(scale.y(0.5)))
  expect(recording.texts()).toEqual(['0', '50', '100%', 'memory'])
  expect(chartNamed('Disks')).toMatchObject({ drawn: null, missing: 'no disk', detail: '' })
})

test('memory of which the limit is not known is no share of anything', () => {
  const unknown = hostCharts({ ...history, memory_limit_bytes: null }, CLOCK)
  expect(chartNamed('Memory and /dev/shm', unknown).drawn).toBeNull()
})

test('rates have a round top in one unit, which the highest tick names', () => {
  const rate = (metric: string, values: (number | null)[]) =>
    ({ metric, unit: 'bytes_per_s', values, missing: null }) as const
  const series = [
    rate('disk_read_bytes_per_s', [null, 20 * MIB]),
    rate('disk_written_bytes_per_s', [90 * MIB, null]),
  ]
  const disks = hostCharts({ ...history, series }, CLOCK)
  expect(chartNamed('Disks', disks).detail).toBe('all processes on the host')
  expect(drawn('Disks', disks).recording.texts()).toEqual(['0', '50', '100 MiB/s', 'read', 'written'])
  expect(drawn('Disks', disks).recording.strokes('ink-2')[0]?.dash).toEqual([5, 3])
})

test('the readout names what was measured then', () => {
  const read = (at: number) => readoutAt(host, at)
  expect(read(12)).toBe('12 s · own cores 2 · other cores 3 · memory 50 B')
  expect(read(13)).toBe('13 s')
  expect(spoken('network_received_bytes_per_s')).toBe('network received')
  expect(spoken('shm_used_bytes')).toBe('/dev/shm')
})

test('every figure of the service is in table and file, also those without a chart', () => {
  const idle: HostHistory['series'][number] = {
    metric: 'idle_cores',
    unit: 'cores',
    values: [1, 2, 3, 4],
    missing: null,
  }
  const { quantities } = hostCharts({ ...history, series: [...history.series, idle] }, CLOCK)
  expect(quantities.at(-1)).toMatchObject({ name: 'idle_cores', label: 'idle cores', unit: 'cores' })
})
