import { expect, test } from 'vitest'
import { ledgerOf } from '../src/verdict'
import { diagnosis, tuning } from './made'

test('what a run gained by tuning itself is stated once, with its trials', () => {
  const [entry] = [{ run_id: 'run-1', advice_of: 'run-1' }] as ReturnType<typeof ledgerOf>
  const ledger = entry ? [entry, { ...entry, advice_of: 'run-0' }] : []
  expect(ledgerOf(diagnosis({ ledger, tuning: tuning() })).map(one => one.advice_of)).toEqual(['run-0'])
  expect(ledgerOf(diagnosis({ ledger, tuning: null }))).toHaveLength(2)
})
