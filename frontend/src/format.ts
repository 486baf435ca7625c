/** Numbers as the page prints them. `null` was not measured and prints as "–", never as 0. */
import type { ComparedSetting, Evidence, RunSummary } from './api/schema'

export const NOT_MEASURED = '–'
/** Built once: `toLocaleString` builds a formatter per call. */
const NUMBER = new Intl.NumberFormat('en', { maximumFractionDigits: 9 })

/** Three significant digits at most, thousands set apart, no trailing zeros: `1089.3` → `"1,089"`. */
export function formatNumber(value: number | null): string {
  if (value === null) return NOT_MEASURED
  const rounded = Math.abs(value) >= 1_000 ? Math.round(value) : Number(value.toPrecision(3))
  return NUMBER.format(rounded)
}

/** The unit in which `us` has one to three digits before the point; an axis prints all its ticks in one. */
export function durationUnit(us: number): [us: number, unit: string] {
  const size = Math.abs(us)
  if (size >= 3.597e9) return [3.6e9, 'h']
  if (size >= 59.95e6) return [60e6, 'min']
  if (size >= 999_500) return [1e6, 's']
  return size >= 999.5 ? [1e3, 'ms'] : [1, 'µs']
}

/** Writes values in the unit that suits each. */
function inUnit(unitOf: typeof durationUnit, per = '') {
  return (value: number | null): string => {
    if (value === null) return NOT_MEASURED
    const [divisor, unit] = unitOf(value)
    return `${formatNumber(value / divisor)} ${unit}${per}`
  }
}

/** Of one step or batch, from microseconds: `412_000` → `"412 ms"`, `1_650_000` → `"1.65 s"`. */
export const formatDuration = inUnit(durationUnit)
/** Binary prefixes, as memory and /dev/shm are sized: `67_108_864` → `"64 MiB"`. */
export const formatBytes = inUnit(bytesUnit)
/** `"1.2 GiB/s"` */
export const formatRate = inUnit(bytesUnit, '/s')

/** Writes the ticks of an axis in the unit of its largest, which alone carries it. */
function ticksIn(unitOf: typeof durationUnit, per = '') {
  return (value: number, largest: number): string => {
    const [divisor, unit] = unitOf(largest)
    const figure = formatNumber(value / divisor)
    return value === largest ? `${figure} ${unit}${per}` : figure
  }
}

export const durationTick = ticksIn(durationUnit)
export const bytesTick = ticksIn(bytesUnit)
export const rateTick = ticksIn(bytesUnit, '/s')

/** How long something has been going on, from seconds: `"48 s"`, `"12 min"`, `"3 h 06 min"`, `"2 d 3 h"`. */
export function formatAge(s: number): string {
  const whole = Math.max(0, Math.round(s))
  if (whole < 120) return `${whole} s`
  const min = Math.floor(whole / 60)
  if (min < 60) return `${min} min`
  const h = Math.floor(min / 60)
  if (h < 48) return `${h} h ${String(min % 60).padStart(2, '0')} min`
  return `${Math.floor(h / 24)} d ${h % 24} h`
}

/** A limit of time as a person sets one, from seconds: `"12 hours"`, `"30 days"`, `"8 weeks"`, `"1 year"`. */
export function formatSpan(s: number): string {
  const [days, years] = [s / 86_400, s / 31_536_000]
  if (days < 2) return plural(Number((s / 3_600).toFixed(1)), 'hour')
  if (years >= 1 && Number.isInteger(years)) return plural(years, 'year')
  const weeks = days / 7
  return weeks >= 5 && Number.isInteger(weeks)
    ? plural(weeks, 'week')
    : plural(Number(days.toFixed(1)), 'day')
}

/** Of what a disk stores, in the units that limits are set in: `"850 kB"`, `"20 GB"`. */
export const formatSize = inUnit(bytes => {
  const units = ['bytes', 'kB', 'MB', 'GB', 'TB'] as const
  const power = bytes < 1 ? 0 : Math.min(units.length - 1, Math.floor(Math.log10(bytes) / 3))
  return [1000 ** power, units[power] ?? 'bytes']
})

/** The same for a table cell: `"48 s"`, `"12 min"`, `"9.6 h"`, `"3.1 d"`. */
export function formatAgeCell(s: number): string {
  if (s < 3_600) return formatAge(s)
  const h = s / 3_600
  if (h < 48) return `${h < 10 ? h.toFixed(1) : Math.round(h)} h`
  return `${(h / 24).toFixed(1)} d`
}

/** A position on the run clock, in the unit that suits all of `spanS`: `"20 s"`, `"4:30 min"`, `"0:30 h"`. */
export function formatElapsed(s: number, spanS = s): string {
  if (spanS < 180) return `${formatNumber(s)} s`
  const whole = Math.round(s)
  const [large, small, unit] = spanS < 5_400 ? [60, 1, 'min'] : [3_600, 60, 'h']
  return `${Math.floor(whole / large)}:${String(Math.floor((whole % large) / small)).padStart(2, '0')} ${unit}`
}

/** From which the word of a verdict is another one. */
const LIMITS = [0.05, 0.1, 0.2]

/**
 * Percent exists on the page only: `0.43` → `"43%"`, with one digit more below ten, `0.009` → `"0.9%"`, and where a share
 * would be rounded up to a limit: `0.1959` → `"19.5%"`.
 */
export function formatFraction(fraction: number | null): string {
  if (fraction === null) return NOT_MEASURED
  if (fraction > 0 && fraction < 0.0005) return '< 0.1%'
  const digits = fraction > 0 && fraction < 0.0995 ? 1 : 0
  const said = Math.round(fraction * 100 * 10 ** digits) / 10 ** digits
  const isCut = LIMITS.some(limit => fraction < limit && said >= 100 * limit)
  return isCut ? `${(Math.floor(fraction * 1_000) / 10).toFixed(1)}%` : `${said.toFixed(digits)}%`
}

/** `1.624` → `"× 1.62"`, and two digits of a factor far below one: `0.0029` → `"× 0.0029"`. */
export function formatFactor(factor: number | null): string {
  return factor === null ? NOT_MEASURED : `× ${plainFactor(factor)}`
}

export function plainFactor(factor: number): string {
  return factor < 0.095 ? String(Number(factor.toPrecision(2))) : factor.toFixed(2)
}

/** An interval of factors: `× 1.48–1.71`; one figure where its ends are written alike. */
export function formatFactors(low: number, high: number): string {
  const [least, most] = [plainFactor(low), plainFactor(high)]
  return least === most ? `× ${least}` : `× ${least}–${most}`
}

/** Time lost or used, from hours; `noun` is "hour" or "GPU-hour": `"9.4 GPU-hours"`, `"22 s"`. */
export function formatHours(hours: number | null, noun: 'hour' | 'GPU-hour'): string {
  if (hours === null) return NOT_MEASURED
  const on = noun === 'GPU-hour' ? 'GPU-' : ''
  if (hours * 3_600 < 99.95) return plural(threeDigits(hours * 3_600), `${on}second`)
  if (hours < 1) return plural(threeDigits(hours * 60), `${on}minute`)
  return plural(hours < 99.95 ? threeDigits(hours) : Math.round(hours), noun)
}

/** The same for a table cell: `"80.4 h"`, `"31 min"`, `"22 s"`. */
export function formatHoursCell(hours: number | null, digits = 1): string {
  if (hours === null) return NOT_MEASURED
  if (hours * 3_600 < 99.95) return `${threeDigits(hours * 3_600)} s`
  if (hours < 1) return `${threeDigits(hours * 60)} min`
  return `${hours < 10 ? hours.toFixed(1) : hours < 100 ? hours.toFixed(digits) : formatNumber(Math.round(hours))} h`
}

/** Two amounts, the unit once where both have the same: `"5.1–6.3 GPU-hours"`, `"48 s – 12 min"`. */
export function formatRange(low: string, high: string): string {
  if (low === high) return high
  const [least, unit, ...rest] = low.split(' ')
  const [, otherUnit, ...others] = high.split(' ')
  const isSame = unit?.replace(/s$/, '') === otherUnit?.replace(/s$/, '')
  return isSame && rest.length + others.length === 0 ? `${least}–${high}` : `${low} – ${high}`
}

/** As many as a share beside them is checked with, by dividing the two. */
function threeDigits(value: number): number {
  return Number(value.toPrecision(3))
}

/** The service gives reasons as clauses; alone on a line they are sentences. */
export function asSentence(clause: string): string {
  const start = capital(clause)
  return /[.!?…]$/.test(start) ? start : `${start}.`
}

/** Figures stay with their units, and an interval in one line. */
export function unbroken(sentence: string): string {
  return sentence.replace(/(\d) (?=[×%]|µs|ms|s\b)/g, '$1\u00a0').replace(/(\d)–(?=\d)/g, '$1\u2060–\u2060')
}

/** `imagenet`, `lr=3e-4`: as a tag is typed and searched. */
export function formatTag(key: string, value: string): string {
  return value ? `${key}=${value}` : key
}

/** Each as it is typed. */
export function formatTags(tags: RunSummary['tags']): readonly string[] {
  return Object.entries(tags).map(([key, value]) => formatTag(key, value))
}

export function capital(word: string): string {
  return word.charAt(0).toUpperCase() + word.slice(1)
}

/** How long something is kept, in the largest unit that is whole: `30 days`. */
export function formatKept(us: number): string {
  const hours = Math.round(us / 3_600_000_000)
  return hours % 24 === 0 ? plural(hours / 24, 'day') : plural(hours, 'hour')
}

export function plural(count: number, noun: string): string {
  return `${count.toLocaleString('en')} ${noun}${count === 1 ? '' : 's'}`
}

/** As of `durationUnit`. */
export function bytesUnit(bytes: number): [bytes: number, unit: string] {
  const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB'] as const
  const power = bytes < 1 ? 0 : Math.min(units.length - 1, Math.floor(Math.log2(bytes) / 10))
  return [1024 ** power, units[power] ?? 'B']
}

/** As Python writes it: readers copy it into their scripts. */
export function formatSetting(value: ComparedSetting['values'][number] | undefined): string {
  if (value === null || value === undefined) return 'None'
  if (typeof value === 'boolean') return value ? 'True' : 'False'
  return String(value)
}

/** By unit of the API; a figure of another one, or without one, is a plain number. */
export const FORMATS: Readonly<Record<string, (value: number) => string>> = {
  us: formatDuration,
  fraction: formatFraction,
  bytes: formatBytes,
  bytes_per_s: formatRate,
  factor: formatFactor,
  w: value => `${formatNumber(value)} W`,
}
const IN_WORDS: typeof FORMATS = {
  ...FORMATS,
  per_s: value => `${formatNumber(value)} per s`,
  cores: value => `${formatNumber(value)} core${value === 1 ? '' : 's'}`,
}

export function formatEvidence({ value, unit, margin_fraction: margin = null }: Evidence): string {
  if (value === null) return NOT_MEASURED
  if (typeof value === 'string') return value
  const figure = (IN_WORDS[unit] ?? formatNumber)(value)
  return margin === null ? figure : `${figure} ${formatMargin(margin)}`
}

/** Of a share, in points: `0.032` → `"± 3"`, below one `"± 0.4"`; empty: not known. */
export function formatMargin(margin: number | null): string {
  if (margin === null) return ''
  const points = 100 * margin
  return `± ${points < 0.95 ? points.toFixed(1) : Math.floor(points + 0.5)}`
}

/** All instants are in UTC, as in searches, exports and logs: a team in several zones sees one time. */
export const ZONE = 'UTC'
const instant = (parts: Intl.DateTimeFormatOptions) =>
  new Intl.DateTimeFormat('en-GB', { ...parts, timeZone: ZONE }).format
/** For axes and columns whose head names the zone. */
export const formatClock = instant({ hour: '2-digit', minute: '2-digit' })
const clockSeconds = instant({ hour: '2-digit', minute: '2-digit', second: '2-digit' })

/** `"today 17:48"` → `"today 17:48 UTC"`; a date alone stays. */
export function inZone(instant: string): string {
  return instant.includes(':') ? `${instant} ${ZONE}` : instant
}

/** `"17:48:05 UTC"` */
export function formatClockSeconds(at: Date | number): string {
  return inZone(clockSeconds(at))
}
const dateAndSeconds = instant({
  day: 'numeric',
  month: 'short',
  year: 'numeric',
  hour: '2-digit',
  minute: '2-digit',
  second: '2-digit',
})

/** `"21 Nov 2026, 17:48:05 UTC"` */
export function formatInstant(at: Date): string {
  return inZone(dateAndSeconds(at))
}
const weekday = instant({ weekday: 'short' })
const weekdayDate = instant({ weekday: 'short', day: 'numeric', month: 'short' })
const date = instant({ day: 'numeric', month: 'short' })
const dateYear = instant({ day: 'numeric', month: 'short', year: 'numeric' })

/** `"today 17:48"`, `"yesterday 09:10"`, `"Wed 15:00"`, `"3 Nov"`, `"3 Nov 2025"`, in `ZONE`. */
export function formatDay(at: Date, now: Date): string {
  const days = Math.round((midnight(now) - midnight(at)) / 86_400_000)
  if (days === 0) return `today ${formatClock(at)}`
  if (days === 1) return `yesterday ${formatClock(at)}`
  if (days > 1 && days < 7) return `${weekday(at)} ${formatClock(at)}`
  return (at.getUTCFullYear() === now.getUTCFullYear() ? date : dateYear)(at)
}

/** Of a UTC day: `"2026-11-20"` → `"Fri 20 Nov"`. */
export function formatWeekday(day: string): string {
  return weekdayDate(new Date(day)).replace(',', '')
}

function midnight(at: Date): number {
  return Date.UTC(at.getUTCFullYear(), at.getUTCMonth(), at.getUTCDate())
}
