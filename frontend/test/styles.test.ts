// @vitest-environment node
import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { expect, test } from 'vitest'

const ROOT = join(import.meta.dirname, '../src')

const files = ['ui', 'pages']
  .flatMap(folder =>
    readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' }).map(name => `${folder}/${name}`),
  )
  .filter(name => name.endsWith('.css'))

interface Rule {
  selector: string
  isTop: boolean
}

/** Every selector of a file, with whether it is nested in another; at-rules are looked through. */
function rulesOf(name: string): readonly Rule[] {
  const css = readFileSync(join(ROOT, name), 'utf8').replace(/\/\*[\s\S]*?\*\//g, '')
  const open: string[] = []
  const rules: Rule[] = []
  for (const [, prelude = '', brace] of css.matchAll(/([^{};]*)([{};])/g)) {
    if (brace === '}') open.pop()
    if (brace !== '{') continue
    const isTop = open.every(each => each.startsWith('@'))
    open.push(prelude.trim())
    const isRule = !prelude.trim().startsWith('@') && !open.some(each => each.startsWith('@keyframes'))
    if (isRule) rules.push({ selector: prelude.trim(), isTop })
  }
  return rules
}

const classesIn = (selector: string) => [...selector.matchAll(/\.([a-z][\w-]*)/g)].map(([, one]) => one ?? '')

/** The first compound of each top-level selector: what a file may style at any depth. `:root` knows what is on the page. */
function ownClasses(name: string): ReadonlySet<string> {
  const tops = rulesOf(name).filter(({ isTop, selector }) => isTop && !selector.startsWith(':root'))
  return new Set(tops.flatMap(({ selector }) => selector.split(/,(?![^(]*\))/)).flatMap(firstClasses))
}

function firstClasses(selector: string): readonly string[] {
  const first = selector.trim().match(/^(?::is\([^)]*\)|[^\s>+])+/)?.[0] ?? ''
  return classesIn(first.replace(/\s*>\s*[\w.-]+/g, ''))
}

const owners = new Map<string, string[]>()
for (const name of files)
  for (const one of ownClasses(name)) owners.set(one, [...(owners.get(one) ?? []), name])

test('every style file comes with a component', () => {
  const components = readdirSync(ROOT, { recursive: true, encoding: 'utf8' }).filter(name =>
    name.endsWith('.tsx'),
  )
  const imported = components.flatMap(name => {
    const code = readFileSync(join(ROOT, name), 'utf8')
    return [...code.matchAll(/^import '(\.[^']+\.css)'/gm)].map(([, path]) => join(dirname(name), path ?? ''))
  })
  expect(files.filter(name => !imported.includes(name))).toEqual([])
})

test('a class is styled by one component', () => {
  expect(files.length).toBeGreaterThan(30)
  expect([...owners].filter(([, names]) => names.length > 1)).toEqual([])
})

test('a rule begins at a class of its own file', () => {
  const loose = files.flatMap(name =>
    rulesOf(name)
      .filter(({ isTop, selector }) => isTop && !/^(\.|:is\(\.|:root:has\()/.test(selector))
      .map(({ selector }) => `${name}: ${selector}`),
  )
  expect(loose).toEqual([])
})

test('from there it goes down step by step: bare elements and others’ classes are children that it names', () => {
  const reaching = files.flatMap(name =>
    rulesOf(name)
      .filter(({ selector }) => !selector.startsWith(':root'))
      .flatMap(({ selector, isTop }) => stray(selector, isTop, name).map(part => `${name}: ${part}`)),
  )
  expect(reaching).toEqual([])
})

/** Compounds that match at any depth and are not the file's own. */
function stray(selector: string, isTop: boolean, name: string): readonly string[] {
  const inside = selector
    .replace(/(?:&:(?:is|where)|:(?:not|has|nth-child))\([^)]*\)/g, '&')
    .replace(/:(?:is|where)\(/g, '(')
  const steps = [...inside.matchAll(/(^|[>+(,\s])\s*(?=[^\s>+(,])([^\s>+(,)]+)/g)]
  return steps.flatMap(([whole, , compound = ''], index) => {
    const before = inside.slice(0, (steps[index]?.index ?? 0) + whole.length - compound.length)
    const isStep = /[>+]\s*\(?[^()]*$/.test(before) && !/[^>+(,\s]\s+$/.test(before)
    const isOwn = classesIn(compound).some(one => owners.get(one)?.includes(name))
    const isSelf = compound.startsWith('&') || /^[:[]/.test(compound)
    const isAncestor = inside.trim().endsWith('&')
    return isStep || isOwn || isSelf || isAncestor || (isTop && index === 0)
      ? []
      : [`${selector} (${compound})`]
  })
}
