import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { throttled } from '../../src/store/throttle'

beforeEach(() => vi.useFakeTimers())
afterEach(() => vi.useRealTimers())

test('runs at once, then at most once in a while, and never forgets the last call', () => {
  const run = vi.fn()
  const call = throttled(run, 1_000)
  for (let at = 0; at < 25; at += 1) {
    call()
    vi.advanceTimersByTime(100)
  }
  expect(run).toHaveBeenCalledTimes(3)
  vi.advanceTimersByTime(1_000)
  expect(run).toHaveBeenCalledTimes(4)
  vi.advanceTimersByTime(10_000)
  expect(run).toHaveBeenCalledTimes(4)
})

test('what takes longer is not run again meanwhile, and once more after it', async () => {
  const run = vi.fn(() => new Promise(resolve => setTimeout(resolve, 5_000)))
  const call = throttled(run, 1_000)
  for (let at = 0; at < 45; at += 1) {
    call()
    await vi.advanceTimersByTimeAsync(100)
  }
  expect(run).toHaveBeenCalledTimes(1)
  await vi.advanceTimersByTimeAsync(1_600)
  expect(run).toHaveBeenCalledTimes(2)
  await vi.advanceTimersByTimeAsync(30_000)
  expect(run).toHaveBeenCalledTimes(2)
})

test('a cancelled one stays silent', () => {
  const run = vi.fn()
  const call = throttled(run, 1_000)
  call()
  call()
  call.cancel()
  vi.advanceTimersByTime(5_000)
  expect(run).toHaveBeenCalledTimes(1)
})
