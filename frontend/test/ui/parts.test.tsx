// @vitest-environment happy-dom
import { cleanup, fireEvent, render, screen } from '@testing-library/preact'
import { afterEach, describe, expect, test, vi } from 'vitest'
import { ServiceError } from '../../src/api/client'
import { navigate } from '../../src/router'
import { isIntercepted, link } from '../../src/store/connection'
import {
  CrashBanner,
  DiedBanner,
  errorLine,
  GoneBanner,
  NoSignalBanner,
  TroubleBanner,
} from '../../src/ui/parts/Banner'
import { Ledger } from '../../src/ui/parts/Ledger'
import { memo } from '../../src/ui/parts/memo'
import { Fence } from '../../src/ui/parts/onDemand'
import { Several } from '../../src/ui/parts/Several'
import { tagsOf, tagsText } from '../../src/ui/parts/tags'
import { run, worker, workersPage } from '../made'

afterEach(() => {
  cleanup()
  navigate('/', 'replace')
})
const seen = () => (document.body.textContent ?? '').replace(/\s+/g, ' ')

describe('the ledger', () => {
  const entry = {
    advice_of: 'run-1',
    run_id: 'run-2',
    change: 'num_workers' as const,
    change_label: 'number of workers',
    settings: { num_workers: 2 },
    predicted_speedup: 1.74,
    low: 1.52,
    high: 1.9,
    observed_speedup: 1.71,
    observed_low: null,
    observed_high: null,
    inside_interval: true,
    is_narrow: true,
  }
  test('sets predicted beside observed and links the other run', () => {
    render(<Ledger run={run()} entries={[entry]} />)
    expect(seen()).toContain('predicted× 1.74')
    expect(seen()).toContain('observed× 1.71')
    expect(seen()).toContain('A hit: inside the predicted interval.')
    expect(screen.getByRole('link').getAttribute('href')).toBe('/runs/run-2')
  })
  test('waits for the observation', () => {
    render(<Ledger run={run()} entries={[{ ...entry, observed_speedup: null, inside_interval: null }]} />)
    expect(seen()).toContain('observed–')
    expect(seen()).toContain('Not judged yet.')
    cleanup()
    const why_not = 'not comparable, changed as well: batch_size (32 → 64)'
    const apart = { ...entry, observed_speedup: null, inside_interval: null, why_not }
    render(<Ledger run={run()} entries={[apart]} />)
    expect(seen()).toContain('Not comparable, changed as well: batch_size (32 → 64).')
  })
  test('shows a miss as one', () => {
    const wide = { ...entry, low: 1.1, high: 2.4, is_narrow: false }
    const { unmount } = render(<Ledger run={run()} entries={[wide]} />)
    expect(seen()).toContain('too wide to be missed: no hit.')
    expect(document.querySelector('.kept')).toBeNull()
    unmount()
    render(<Ledger run={run()} entries={[{ ...entry, observed_speedup: 1.1, inside_interval: false }]} />)
    expect(screen.getByText('A miss: outside the predicted interval.').className).toContain('missed')
  })
})

describe('what is wrong', () => {
  test('a lost run names its host and the moment', () => {
    // The page's clock ticks each second: half a minute more is still five.
    const last = new Date(Date.now() - 330_000).toISOString()
    render(<NoSignalBanner run={run({ status: 'lost', last_seen_at: last })} />)
    expect(seen()).toContain(`No data from gpu-03 for 5 min`)
    expect(seen()).toContain(`as of ${last.slice(11, 19)} UTC.`)
  })
  test('a crashed run shows its error', () => {
    render(<CrashBanner run={run({ status: 'crashed', exit_reason: 'CUDA out of memory' })} />)
    expect(document.querySelector('.error-line')?.textContent).toBe('CUDA out of memory')
  })
  test('a run that was killed has none', () => {
    render(<CrashBanner run={run({ status: 'crashed' })} />)
    expect(seen()).toContain('No error was recorded.')
  })
  test('a failed part has its request to copy', () => {
    render(
      <TroubleBanner what="The charts" error={new ServiceError(500, 'internal', 'It broke.', 'req-7')} />,
    )
    expect(seen()).toContain('The charts could not be read. It broke. Request req-7.')
  })
})

test('tags are written as they are read', () => {
  expect(tagsOf('imagenet, lr=3e-4 ,, a=b=c')).toEqual({ imagenet: '', lr: '3e-4', a: 'b=c' })
  expect(tagsText({ imagenet: '', lr: '3e-4' })).toBe('imagenet, lr=3e-4')
})

describe('a worker that died', () => {
  const death = {
    rank: 0,
    loader: 'train',
    worker: 2,
    iterator_index: 1,
    epoch_index: 1,
    pid: 4711,
    start_us: 5,
    end_us: 192_000_000,
    ended: 'died' as const,
  }
  const lives = [{ ...death, rank: undefined, loader: undefined, worker: undefined }]

  test('is shown with when, and what it took last', () => {
    const page = workersPage({ workers: [worker({ worker: 2, rss_bytes: 3 * 2 ** 30, lives })] })
    render(<DiedBanner run={run({ died_workers: [death] })} page={page} />)
    expect(seen()).toContain('Worker 2 of train died.')
    expect(seen()).toContain('Process 4711, 3 min into the run, in epoch 1, last seen with 3 GiB: ended')
  })

  test('shows no memory that is a later process’s', () => {
    const page = workersPage({
      workers: [worker({ worker: 2, rss_bytes: 5, lives: [{ ...death, start_us: 9 }] })],
    })
    render(<DiedBanner run={run({ died_workers: [death] })} page={page} />)
    expect(seen()).not.toContain('last seen')
  })

  test('is named beside all others that died', () => {
    const other = { ...death, worker: 1 }
    render(<DiedBanner run={run({ died_workers: [other, death] })} page={null} />)
    expect(seen()).toContain('Workers 1, 2 of train died.')
    expect(seen()).toContain('The last of them: worker 2 of train, process 4711, 3 min into')
    cleanup()
    const again = { ...other, rank: 3, iterator_index: 2 }
    render(
      <DiedBanner run={run({ died_workers: [other, death, { ...other, rank: 3 }, again] })} page={null} />,
    )
    expect(seen()).toContain('Workers 1, 2 of train; 1 of train on rank 3 died.')
  })
})

test('a memoised part is made again when a property is another, and not with each of its parent', () => {
  const made = vi.fn(({ name }: { name: string }) => <b>{name}</b>)
  const Part = memo((properties: { name: string }) => made(properties))
  const { rerender } = render(<Part name="a" />)
  rerender(<Part name="a" />)
  expect(made).toHaveBeenCalledTimes(1)
  rerender(<Part name="b" />)
  expect(made).toHaveBeenCalledTimes(2)
  expect(seen()).toBe('b')
})

describe('the error of a crash', () => {
  const frames = Array.from(
    { length: 12 },
    (_, at) => `  File "net.py", line ${at}, in forward\n    x = self.inner(x)`,
  )
  const trace = [
    'Traceback (most recent call last):',
    ...frames,
    'torch.OutOfMemoryError: CUDA out of memory.',
  ]
  test.each([
    [trace.join('\n'), 'torch.OutOfMemoryError: CUDA out of memory.'],
    [[...trace, 'Tried to allocate 2.00 GiB.', ''].join('\n'), 'torch.OutOfMemoryError: CUDA out of memory.'],
    ['Killed by signal 9', 'Killed by signal 9'],
    ['KeyboardInterrupt\n', 'KeyboardInterrupt'],
    ['', ''],
  ])('is its last line that names one', (whole, line) => expect(errorLine(whole)).toBe(line))

  test('is seen without opening anything, and the whole is there', () => {
    render(<CrashBanner run={run({ status: 'crashed', exit_reason: trace.join('\n') })} />)
    expect(document.querySelector('.error-line')?.textContent).toContain('CUDA out of memory')
    expect(document.querySelector('details')?.open).toBe(false)
    expect(document.querySelector('pre')?.textContent).toContain('in forward')
  })
  test('of one line is shown once', () => {
    render(<CrashBanner run={run({ status: 'crashed', exit_reason: 'Killed by signal 9' })} />)
    expect(screen.getAllByText(/Killed by signal 9/)).toHaveLength(1)
  })
})

describe('a part that cannot be drawn', () => {
  const spoilt = { is: true }
  function Part() {
    if (spoilt.is) throw new Error('no such figure')
    return <p>drawn</p>
  }
  test('leaves its neighbours, and is drawn again when asked', () => {
    spoilt.is = true
    render(
      <>
        <Fence>
          <Part />
        </Fence>
        <p>neighbour</p>
      </>,
    )
    expect(seen()).toContain('This part of the page failed.')
    expect(seen()).toContain('neighbour')
    spoilt.is = false
    fireEvent.click(screen.getByText('Try again'))
    expect(seen()).toContain('drawn')
    expect(seen()).not.toContain('failed')
  })
})

test('a run that has been silent for long is not said to be out of reach', () => {
  const lost = (minutes: number) =>
    run({ status: 'lost', last_seen_at: new Date(Date.now() - minutes * 60_000).toISOString() })
  const { rerender } = render(<NoSignalBanner run={lost(5)} />)
  expect(seen()).toContain('The training may still be running')
  expect(seen()).toMatch(/as of \d\d:\d\d:\d\d UTC/)
  rerender(<NoSignalBanner run={lost(300)} />)
  expect(seen()).toContain('How this run ended is unknown')
  expect(seen()).not.toContain('may still be running')
  expect(seen()).toMatch(/as of (today|yesterday) \d\d:\d\d UTC/)
})

test('many names are a few, and all of them under the pointer', () => {
  const names = Array.from({ length: 32 }, (_, at) => `gpu-${at}`)
  render(<Several names={names} />)
  expect(seen()).toBe('gpu-0, gpu-1 and 30 more')
  expect(screen.getByTitle(/gpu-31/)).toBeTruthy()
  cleanup()
  render(<Several names={names.slice(0, 3)} />)
  expect(seen()).toBe('gpu-0, gpu-1, gpu-2')
})

test('a proxy that asks for its own sign-in is distinguished from a service that is down', () => {
  link.value = 'gone'
  isIntercepted.value = true
  render(<GoneBanner />)
  expect(seen()).toContain('Something else answers in place of the service.')
  expect(screen.getByText('Reload')).toBeTruthy()
  cleanup()
  isIntercepted.value = false
  render(<GoneBanner />)
  expect(seen()).toContain('The service does not answer.')
  expect(screen.queryByText('Reload')).toBeNull()
  link.value = 'connecting'
})
