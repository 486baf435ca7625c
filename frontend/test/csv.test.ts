import { expect, test } from 'vitest'
import { toCsv } from '../src/csv'

test('figures stay figures, what was not measured stays empty', () => {
  expect(
    toCsv({
      columns: ['at_s', 'wait_us'],
      rows: [
        [1.5, null],
        [2, -3],
      ],
    }),
  ).toBe('at_s,wait_us\r\n1.5,\r\n2,-3\r\n')
})

test('text that a spreadsheet would compute is marked as text, and quotes hold what divides cells', () => {
  const rows = [['=1+1'], ['@cmd'], ['-2+3'], ['+4'], ['\t=5'], ['a "b", c']]
  expect(
    toCsv({ columns: ['name'], rows })
      .split('\r\n')
      .slice(1, -1),
  ).toEqual(["'=1+1", "'@cmd", "'-2+3", "'+4", "'\t=5", '"a ""b"", c"'])
})
