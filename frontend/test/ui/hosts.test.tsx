// @vitest-environment happy-dom
import { cleanup, fireEvent, render, screen } from '@testing-library/preact'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import type { GroupHours, Host } from '../../src/api/schema'
import { HostRow } from '../../src/ui/hosts/HostRow'
import { alike, SilentHosts } from '../../src/ui/hosts/SilentHosts'
import { HoursPanel } from '../../src/ui/team/HoursPanel'
import { summary } from '../made'

afterEach(cleanup)
const seen = () => (document.body.textContent ?? '').replace(/\s+/g, ' ')
const MIB = 1024 ** 2

function host(changes: Partial<Host> = {}): Host {
  const run = { ...summary(), ranks: 1, own_cores: 2 }
  return {
    hostname: 'gpu-03',
    is_live: true,
    last_seen_at: '2026-11-21T13:06:00Z',
    facts: { hostname: 'gpu-03', usable_cores: 8 } as Host['facts'],
    gpus: [],
    runs: [{ ...run, started_at: '2026-11-21T10:00:00Z', ended_at: '2026-11-21T13:06:00Z' }],
    earlier_runs: 0,
    cores: { usable: 8, busy: 5, own: 2, others: 3, idle: 3, missing: null },
    memory_used_bytes: 16 * 1024 * MIB,
    memory_limit_bytes: 64 * 1024 * MIB,
    shm_used_bytes: null,
    shm_total_bytes: null,
    disk_read: { now: 95 * MIB, most: 190 * MIB },
    disk_written: { now: null, most: null },
    network_received: { now: null, most: null },
    network_sent: { now: null, most: null },
    competing: [],
    not_measured: {},
    ...changes,
  }
}

function show(changes: Partial<Host> = {}): void {
  render(
    <table>
      <tbody>
        <HostRow host={host(changes)} isLink />
      </tbody>
    </table>,
  )
}

describe('a host in the table', () => {
  test('says who keeps its cores busy, and how full it is', () => {
    show()
    expect(seen()).toContain('2 by runs · 3 others · 3 idle')
    expect(seen()).toContain('25% 64 GiB')
    expect(seen()).toContain('95 MiB/s')
    expect(screen.getByRole('link', { name: 'gpu-03' }).getAttribute('href')).toBe('/hosts?host=gpu-03')
  })

  test('what was not measured is a dash with its reason, and no empty bar', () => {
    const cores = {
      usable: 8,
      busy: null,
      own: null,
      others: null,
      idle: null,
      missing: 'no run reports now',
    }
    show({
      cores,
      disk_read: { now: null, most: null },
      not_measured: { disks: 'no disk of this host can be seen from here' },
    })
    expect(seen()).toContain('– no run reports now')
    expect(seen()).toContain('– no disk of this host can be seen from here')
    expect(document.querySelectorAll('.meter-bar')).toHaveLength(1)
  })

  test('GPUs are shown with how busy they are and how long their run waits', () => {
    const gpu = { name: 'A100', memory_used_bytes: null, memory_total_bytes: null }
    show({
      gpus: [
        { ...gpu, gpu_index: 0, util_fraction: 0.5, run_id: 'run-1', data_stall_fraction: 0.4 },
        { ...gpu, gpu_index: 1, util_fraction: null, run_id: null, data_stall_fraction: null },
      ],
    })
    expect(screen.getByRole('img', { name: /GPU 0/ }).getAttribute('aria-label')).toBe(
      'GPU 0: busy 50%, its run waits 40% of the time; GPU 1: busy –',
    )
  })

  test('what its runs compete for stands below it', () => {
    show({ competing: ['a and b compete for 8 cores: 0.1 are idle.'] })
    expect(seen()).toContain('a and b compete for 8 cores: 0.1 are idle.')
  })
})

describe('hosts from which nothing comes', () => {
  // Of the last days the time of day is shown, before them only the date.
  beforeEach(() => {
    vi.setSystemTime('2026-11-21T18:00:00Z')
  })
  afterEach(() => {
    vi.useRealTimers()
  })

  const silent = (index: number, runId = `run-${index}`) =>
    host({
      hostname: `gpu-${index}`,
      is_live: false,
      runs: host().runs.map(run => ({ ...run, run_id: runId, name: runId })),
    })
  const one = Array.from({ length: 32 }, (_, index) => silent(index, 'wide'))
  const others = Array.from({ length: 15 }, (_, index) => silent(40 + index))

  test('are one line for those alike, and few lines until all are asked for', () => {
    expect(alike([...one, ...others]).map(line => line.length)).toEqual([32, ...others.map(() => 1)])
    render(<SilentHosts hosts={[...one, ...others]} />)
    expect(seen()).toContain('Hosts without a run now47, seen in the last seven days')
    expect(seen()).toContain('gpu-0 and 31 more')
    expect(screen.getByRole('link', { name: 'gpu-17', hidden: true }).getAttribute('href')).toBe(
      '/hosts?host=gpu-17',
    )
    const rows = () => document.querySelectorAll('tbody tr').length
    expect(rows()).toBe(8)
    fireEvent.click(screen.getByText('Show all 47'))
    expect(rows()).toBe(16)
  })

  test('say when they were seen and what ran there last', () => {
    render(<SilentHosts hosts={[silent(3)]} />)
    expect(seen()).toMatch(/gpu-38 cores.*13:06 UTC.*run-3 ?43%/)
    expect(screen.queryByText(/Show all/)).toBeNull()
  })
})

describe('ranked hours', () => {
  const group = (changes: Partial<GroupHours>): GroupHours => ({
    name: 'ada',
    runs: 2,
    hours_lost: 4,
    hours_used: 10,
    hours_recoverable: 3,
    hours_recoverable_low: 2,
    hours_recoverable_high: 3.5,
    search: 'user="ada"',
    ...changes,
  })

  test('each group leads to its runs, and what was not predicted is not called nothing', () => {
    const groups = [group({}), group({ name: '', search: null, hours_recoverable: null })]
    render(<HoursPanel name="users" title="People" groups={groups} />)
    expect(screen.getByRole('link', { name: 'ada' }).getAttribute('href')).toBe('/?q=user%3D%22ada%22')
    expect(seen()).toContain('4.0 h2.0–3.5 h recoverable')
    expect(seen()).toContain('not known4.0 hnot predicted')
  })
})
