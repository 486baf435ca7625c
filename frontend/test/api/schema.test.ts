// @vitest-environment node
import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'

const read = (name: string) => readFileSync(new URL(name, import.meta.url), 'utf8')

test('the types were made from this very OpenAPI; otherwise run `npm run codegen`', () => {
  const digest = createHash('sha256').update(read('../../openapi.json')).digest('hex')
  expect(read('../../src/api/schema.d.ts')).toContain(digest)
})
