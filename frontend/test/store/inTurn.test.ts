import { expect, test } from 'vitest'
import { inTurn } from '../../src/store/throttle'

/** Runs that end when the test ends them. */
function made() {
  const ends: { end(): void; fail(error: Error): void }[] = []
  const run = inTurn(() => new Promise((resolve, reject) => void ends.push({ end: resolve, fail: reject })))
  return { ends, run }
}

const passed = () => new Promise(resolve => setTimeout(resolve))

test('who calls while one is under way shares the next, which begins once that has ended', async () => {
  const { ends, run } = made()
  const first = run()
  const others = [run(), run()]
  expect(ends).toHaveLength(1)
  ends[0]?.end()
  await first
  await passed()
  expect(ends).toHaveLength(2)
  ends[1]?.end()
  await Promise.all(others)
  await passed()
  expect(ends).toHaveLength(2)
})

test('a call between two is not a third beside them', async () => {
  const { ends, run } = made()
  let between: Promise<void> | null = null
  void run().then(() => {
    between = run()
  })
  const next = run()
  ends[0]?.end()
  await passed()
  expect(ends).toHaveLength(2)
  ends[1]?.end()
  await next
  await passed()
  ends[2]?.end()
  await between
  expect(ends.length).toBeLessThanOrEqual(3)
})

test('one that fails keeps no other from it', async () => {
  const { ends, run } = made()
  const first = run()
  const next = run()
  ends[0]?.fail(new Error('spoilt'))
  await expect(first).rejects.toThrow('spoilt')
  await passed()
  ends[1]?.end()
  await next
})
