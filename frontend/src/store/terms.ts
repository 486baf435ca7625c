/** A search as the list of its terms, so that a click can add or remove one: docs/search.md is the grammar. */

export interface Term {
  /** As it is written, sign and all. */
  written: string
  /** `null`: a plain word. */
  key: string | null
  operator: string
  value: string
}

const WRITTEN = /(?:[^\s"]|"[^"]*"?)+/g
const COMPARED = /^([a-z_]+)(!=|<=|>=|[:=<>])(.*)$/i

export function termsOf(q: string): readonly Term[] {
  return (q.match(WRITTEN) ?? []).map(written => {
    const [, key = null, operator = '', value = ''] = written.match(COMPARED) ?? []
    return { written, key: key?.toLowerCase() ?? null, operator, value: value.replaceAll('"', '') }
  })
}

export function hasTerm(q: string, written: string): boolean {
  return termsOf(q).some(term => term.written === written)
}

/** Adds the terms where one of them is missing, else removes them all. */
export function toggled(q: string, terms: readonly string[]): string {
  const isOn = terms.every(term => hasTerm(q, term))
  const kept = termsOf(q).filter(({ written }) => !terms.includes(written))
  return [...kept.map(({ written }) => written), ...(isOn ? [] : terms)].join(' ')
}

/** The value that the search asks of `key` with this operator; `null` where there is none. */
export function chosenIn(q: string, key: string, operator = '='): string | null {
  return termsOf(q).find(term => term.key === key && term.operator === operator)?.value ?? null
}

/** With this one value of `key`, or without any; terms of `key` with other operators stay. */
export function choosing(q: string, key: string, value: string | null, operator = '='): string {
  const kept = termsOf(q).filter(term => term.key !== key || term.operator !== operator)
  return [...kept.map(({ written }) => written), ...(value ? [key + operator + quoted(value)] : [])].join(' ')
}

/** As a value of the search language, which has no way to write a quote inside a name. */
export function quoted(name: string): string {
  return /[\s,]/.test(name) ? `"${name}"` : name
}

/** The terms for runs that were running on a UTC day, `YYYY-MM-DD`. */
export function ofDay(day: string): readonly [string, string] {
  return [`started<=${day}`, `seen>=${day}`]
}
