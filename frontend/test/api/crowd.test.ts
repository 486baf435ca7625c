import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { type Channel, joinCrowd } from '../../src/api/crowd'

/** Channels of one browser: what one sends all others receive. */
let channels: Channel[]
let clock: number
let crowded: Map<string, boolean>

beforeEach(() => {
  vi.useFakeTimers()
  channels = []
  clock = 0
  crowded = new Map()
})

afterEach(() => vi.useRealTimers())

function join(tab: string): ReturnType<typeof joinCrowd> {
  const channel: Channel = {
    onmessage: null,
    postMessage(data) {
      const message = new MessageEvent('message', { data: { ...data } })
      for (const other of channels)
        if (other !== channel) other.onmessage?.call(other as BroadcastChannel, message)
    },
  }
  channels.push(channel)
  const tick = () => {
    clock += 1
    return clock
  }
  return joinCrowd(channel, tab, tick, isCrowded => crowded.set(tab, isCrowded))
}

const names = ['a', 'b', 'c', 'd', 'e', 'f', 'g']
const tooMany = () => names.filter(name => crowded.get(name))

test('the first four have a stream, whoever comes later has none', () => {
  for (const name of names) join(name).want(true)
  expect(tooMany()).toEqual(['e', 'f', 'g'])
})

test('one that goes makes room for the one that waits longest', () => {
  const tabs = names.map(join)
  for (const tab of tabs) tab.want(true)
  tabs[1]?.want(false)
  expect(tooMany()).toEqual(['f', 'g'])
  tabs[1]?.want(true)
  expect(tooMany()).toEqual(['b', 'f', 'g'])
})

test('one that crashed is forgotten when somebody asks', () => {
  const tabs = names.map(join)
  for (const tab of tabs) tab.want(true)
  channels.shift()
  tabs[4]?.ask()
  expect(tooMany()).toEqual(['e', 'f', 'g'])
  vi.runAllTimers()
  expect(tooMany()).toEqual(['f', 'g'])
})

test('asking who is there opens no stream', () => {
  const reported: boolean[] = []
  const tabs = names.map(join)
  for (const tab of tabs) tab.want(true)
  const before = new Map(crowded)
  crowded = { set: (_: string, isCrowded: boolean) => reported.push(isCrowded) } as unknown as typeof crowded
  for (const tab of tabs) tab.ask()
  vi.runAllTimers()
  expect(reported).toEqual([])
  expect(before.get('g')).toBe(true)
})

test('tabs that begin at one moment agree who is first', () => {
  const tabs = names.map(join)
  for (const tab of tabs) {
    clock = 0
    tab.want(true)
  }
  expect(tooMany()).toEqual(['e', 'f', 'g'])
})
