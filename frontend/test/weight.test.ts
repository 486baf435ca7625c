// @vitest-environment node
import { gzipSync } from 'node:zlib'
import { build, type Rolldown } from 'vite'
import { expect, test, vi } from 'vitest'

/** Of scripts and styles, as they come over the wire. */
const FIRST_LOAD_BYTES = 70_000
const FURTHER_PAGE_BYTES = 25_000

// Else the libraries come with what they say to developers.
vi.stubEnv('NODE_ENV', 'production')
const root = new URL('..', import.meta.url).pathname
const { output } = (await build({
  root,
  logLevel: 'error',
  build: { write: false },
})) as Rolldown.RolldownOutput
const chunks = new Map(output.filter(one => one.type === 'chunk').map(chunk => [chunk.fileName, chunk]))
const assets = new Map(
  output.filter(one => one.type === 'asset').map(asset => [asset.fileName, asset.source]),
)

/** A chunk, what it imports at once, and their styles. */
function filesOf(name: string): readonly string[] {
  const chunk = chunks.get(name)
  const styles = [...(chunk?.viteMetadata?.importedCss ?? [])]
  return [...new Set([name, ...styles, ...(chunk?.imports ?? []).flatMap(filesOf)])]
}

function packed(names: readonly string[]): number {
  const sizes = names.map(
    name => gzipSync(chunks.get(name)?.code ?? assets.get(name) ?? '', { level: 9 }).length,
  )
  return sizes.reduce((sum, size) => sum + size, 0)
}

const entry = [...chunks.values()].find(chunk => chunk.isEntry)
const first = filesOf(entry?.fileName ?? '')

test('the frame with Runs and Run is light', () => {
  expect(first.filter(name => name.endsWith('.css')).length).toBeGreaterThan(0)
  expect(packed(first)).toBeLessThanOrEqual(FIRST_LOAD_BYTES)
})

test.each(['ComparePage', 'HostsPage', 'TeamPage', 'AlertsPage', 'HotspotsPanel'])(
  '%s comes alone, and is light',
  page => {
    const chunk = [...chunks.values()].find(one => one.isDynamicEntry && one.name === page)
    const more = filesOf(chunk?.fileName ?? '').filter(name => !first.includes(name))
    expect(entry?.dynamicImports).toContain(chunk?.fileName)
    expect(more.some(name => name.endsWith('.css'))).toBe(true)
    expect(packed(more)).toBeLessThanOrEqual(FURTHER_PAGE_BYTES)
  },
)
