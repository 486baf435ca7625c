// @vitest-environment happy-dom
import { expect, test } from 'vitest'
import { completions, isUnfinished } from '../../src/store/completions'

const CHOICES = { projects: ['vision', 'my speech'], users: ['ada'], causes: ['storage_wait'] }
const offered = (typed: string) => completions(typed, CHOICES)

test('the beginning of a key is gone on with, with what stands before it', () => {
  expect(offered('num')).toEqual(['num_workers<'])
  expect(offered('resnet bou')).toEqual(['resnet bound:'])
  expect(offered('-hos')).toEqual(['-host:'])
  expect(offered('')).toEqual([])
  expect(offered('resnet ')).toEqual([])
})

test('a key is gone on with by the words that it takes', () => {
  expect(offered('x bound:d')).toEqual(['x bound:data'])
  expect(offered('-cause:')).toEqual(['-cause:storage_wait', '-cause:none'])
  expect(offered('project:')).toEqual(['project:vision', 'project:"my speech"'])
  expect(offered('bound:data')).toEqual([])
  expect(offered('host:')).toEqual([])
})

test('a term that is still being written is not asked for', () => {
  for (const typed of ['bound:', 'bound:data,', 'num_workers<', 'x -', '-', 'tag:"my', 'user!']) {
    expect(isUnfinished(typed), typed).toBe(true)
  }
  for (const typed of ['', 'resnet', 'bound:data', 'num_workers<8', '-host:a', 'tag:"my run"', 'a-b']) {
    expect(isUnfinished(typed), typed).toBe(false)
  }
})
