import { describe, expect, test } from 'vitest'
import FIGURES from '../../tests/contract/figures.json'
import VERDICTS from '../../tests/contract/verdicts.json'
import type { Evidence } from '../src/api/schema'
import {
  asSentence,
  formatAge,
  formatAgeCell,
  formatBytes,
  formatClockSeconds,
  formatDay,
  formatDuration,
  formatElapsed,
  formatEvidence,
  formatFactor,
  formatFactors,
  formatFraction,
  formatHours,
  formatHoursCell,
  formatNumber,
  formatRange,
  formatSetting,
  formatSize,
  formatSpan,
  inZone,
} from '../src/format'
import { type Judged, verdictWord } from '../src/verdict'

test('what was not measured is a dash, and zero is a zero', () => {
  for (const format of [
    formatNumber,
    formatDuration,
    formatFraction,
    formatFactor,
    formatBytes,
    formatHoursCell,
  ]) {
    expect(format(null)).toBe('–')
    expect(format(0)).toMatch(/^(× )?0/)
  }
  expect(formatEvidence({ what: '', value: 0.6, unit: 'fraction', margin_fraction: 0.093 })).toBe('60% ± 9')
  expect(formatEvidence({ what: '', value: 0.6, unit: 'fraction', margin_fraction: 0.0041 })).toBe(
    '60% ± 0.4',
  )
  expect(formatEvidence({ what: '', value: null, unit: 'us', series: null })).toBe('–')
})

test('numbers have three digits and thousands apart', () => {
  expect([0.1234, 62.14, 621.4, 1_089.3, 999.7, 1_281_167].map(formatNumber)).toEqual([
    '0.123',
    '62.1',
    '621',
    '1,089',
    '1,000',
    '1,281,167',
  ])
})

test('a duration takes the unit in which it is one to three digits', () => {
  expect([3.6, 999, 41_200, 412_000, 999_600, 1_650_000].map(formatDuration)).toEqual([
    '3.6 µs',
    '999 µs',
    '41.2 ms',
    '412 ms',
    '1 s',
    '1.65 s',
  ])
})

test('percents below ten have one digit more, as in the verdict’s sentence', () => {
  expect([0, 0.0002, 0.009, 0.0949, 0.101, 0.43].map(formatFraction)).toEqual([
    '0%',
    '< 0.1%',
    '0.9%',
    '9.5%',
    '10%',
    '43%',
  ])
})

test('ages and positions', () => {
  expect([48, 119, 720, 3_599, 3_660, 11_160, 183_600].map(formatAge)).toEqual([
    '48 s',
    '119 s',
    '12 min',
    '59 min',
    '1 h 01 min',
    '3 h 06 min',
    '2 d 3 h',
  ])
  expect([48, 34_560, 86_400, 268_000].map(formatAgeCell)).toEqual(['48 s', '9.6 h', '24 h', '3.1 d'])
  expect(formatElapsed(20)).toBe('20 s')
  expect(formatElapsed(270, 600)).toBe('4:30 min')
  expect(formatElapsed(1_800, 11_160)).toBe('0:30 h')
})

describe('hours', () => {
  test('carry their noun, smaller ones a smaller unit', () => {
    expect(formatHours(9.4, 'GPU-hour')).toBe('9.4 GPU-hours')
    expect(formatHours(1, 'hour')).toBe('1 hour')
    expect(formatHours(0.5, 'GPU-hour')).toBe('30 GPU-minutes')
    expect(formatHours(25 / 3_600, 'hour')).toBe('25 seconds')
    expect(formatHours(2_290, 'GPU-hour')).toBe('2,290 GPU-hours')
  })
  test('are short in cells', () => {
    expect([80.4, 412.4, 0.5, 22 / 3_600].map(hours => formatHoursCell(hours))).toEqual([
      '80.4 h',
      '412 h',
      '30 min',
      '22 s',
    ])
  })
})

test.each(FIGURES as [Evidence['unit'], Evidence['value'], string][])(
  'a figure of %s, %s, is written as in the terminal',
  (unit, value, text) => {
    expect(formatEvidence({ what: '', value, unit, series: null })).toBe(text)
  },
)

test.each(VERDICTS as [Judged['bound'], Judged['level'], Judged['status'], boolean, string][])(
  'the verdict %s, %s of a %s run, paused: %s, is the word of the terminal',
  (bound, level, status, is_mostly_paused, word) => {
    expect(verdictWord({ bound, level, status, is_mostly_paused })).toBe(word)
  },
)

test('a range has its unit once where both ends have it', () => {
  expect(formatRange('5.1 GPU-hours', '6.3 GPU-hours')).toBe('5.1–6.3 GPU-hours')
  expect(formatRange('1 hour', '1.5 hours')).toBe('1–1.5 hours')
  expect(formatRange('48 s', '12 min')).toBe('48 s – 12 min')
  expect(formatRange('59 min', '1 h 06 min')).toBe('59 min – 1 h 06 min')
  expect(formatRange('2 h', '2 h')).toBe('2 h')
  expect(formatFactors(1.484, 1.712)).toBe('× 1.48–1.71')
  expect(formatFactors(1.618, 1.622)).toBe('× 1.62')
})

test('evidence prints by its unit', () => {
  const print = (value: number | string, unit: Parameters<typeof formatEvidence>[0]['unit']) =>
    formatEvidence({ what: '', value, unit, series: null })
  expect(print(1_650_000, 'us')).toBe('1.65 s')
  expect(print(0.93, 'fraction')).toBe('93%')
  expect(print(67_108_864, 'bytes')).toBe('64 MiB')
  expect(print(1_048_576, 'bytes_per_s')).toBe('1 MiB/s')
  expect(print(1, 'cores')).toBe('1 core')
  expect(print(250, 'w')).toBe('250 W')
  expect(print('42% to 45%', 'setting')).toBe('42% to 45%')
})

test('settings read as in Python', () => {
  expect([true, false, null, undefined, 4, 'spawn'].map(formatSetting)).toEqual([
    'True',
    'False',
    'None',
    'None',
    '4',
    'spawn',
  ])
})

test('days are named by how near they are', () => {
  const now = new Date(2026, 10, 21, 18, 0)
  expect(formatDay(new Date(2026, 10, 21, 9, 5), now)).toBe('today 09:05')
  expect(formatDay(new Date(2026, 10, 20, 23, 59), now)).toBe('yesterday 23:59')
  expect(formatDay(new Date(2026, 10, 18, 15, 0), now)).toBe('Wed 15:00')
  expect(formatDay(new Date(2026, 10, 3, 15, 0), now)).toBe('3 Nov')
  expect(formatDay(new Date(2025, 10, 3, 15, 0), now)).toBe('3 Nov 2025')
})

test('a reason alone on a line is a sentence', () => {
  expect(asSentence('no NVIDIA driver: NVML not found')).toBe('No NVIDIA driver: NVML not found.')
  expect(asSentence('Done.')).toBe('Done.')
})

test('limits are written as a person sets them', () => {
  const day = 86_400
  expect(
    [day / 2, 36 * 3_600, 2 * day, 30 * day, 56 * day, 365 * day, 730 * day, 36_500 * day].map(formatSpan),
  ).toEqual(['12 hours', '36 hours', '2 days', '30 days', '8 weeks', '1 year', '2 years', '100 years'])
  expect([0, 512, 850_000, 2_500_000_000, 20e9].map(formatSize)).toEqual([
    '0 bytes',
    '512 bytes',
    '850 kB',
    '2.5 GB',
    '20 GB',
  ])
})

test('every instant is in one zone, which is named beside a clock', () => {
  const at = new Date('2026-11-20T23:30:05Z')
  expect(formatClockSeconds(at)).toBe('23:30:05 UTC')
  expect(inZone(formatDay(at, new Date('2026-11-21T00:10:00Z')))).toBe('yesterday 23:30 UTC')
  expect(inZone(formatDay(at, new Date('2026-12-21T00:10:00Z')))).toBe('20 Nov')
})
