// @vitest-environment node
import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { expect, test } from 'vitest'

const ROOT = join(import.meta.dirname, '../src')
/** From the ground upwards. A part imports what lies below it, and of its own floor only from its own folder. */
const FLOORS = [
  ['kept'],
  ['api', 'csv', 'shortcuts', 'theme'],
  ['format'],
  ['text', 'router', 'verdict', 'gain'],
  ['charts'],
  ['store'],
  ['ui/parts'],
  ['ui/runs', 'ui/run', 'ui/compare', 'ui/hosts', 'ui/team', 'ui/alerts', 'ui/frame'],
  ['pages'],
  ['app'],
  ['main'],
]

const files = readdirSync(ROOT, { recursive: true, encoding: 'utf8' })
  .map(name => name.replaceAll('\\', '/'))
  .filter(name => /\.tsx?$/.test(name) && !name.endsWith('.d.ts'))

/** `ui/run/Verdict.tsx` → `ui/run`, `format.ts` → `format`. */
function partOf(name: string): string {
  const found = FLOORS.flat().find(
    part => name.startsWith(`${part}/`) || name.replace(/\.tsx?$/, '') === part,
  )
  if (!found) throw new Error(`${name} lies on no floor`)
  return found
}

function floorOf(part: string): number {
  return FLOORS.findIndex(parts => parts.includes(part))
}

function importsOf(name: string): readonly string[] {
  const code = readFileSync(join(ROOT, name), 'utf8')
  return [...code.matchAll(/(?:from|import) '(\.[^']+)'/g)]
    .map(([, path]) => join(dirname(name), path ?? ''))
    .filter(path => !path.endsWith('.css'))
}

test('every file of the page lies on a floor, and all are seen', () => {
  expect(files.map(partOf)).toContain('ui/run')
  expect(files.flatMap(importsOf).length).toBeGreaterThan(files.length)
})

test('imports point one way: no room of a page from another’s, no chart and no store from what shows them', () => {
  const upward = files.flatMap(name =>
    importsOf(name)
      .filter(path => partOf(path) !== partOf(name) && floorOf(partOf(path)) >= floorOf(partOf(name)))
      .map(path => `${name} imports ${path}`),
  )
  expect(upward).toEqual([])
})
