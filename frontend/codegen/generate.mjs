// Writes src/api/schema.d.ts from openapi.json, with the digest of what it was made from: a test compares them.
import { createHash } from 'node:crypto'
import { readFile, writeFile } from 'node:fs/promises'
import openapiTS, { astToString } from 'openapi-typescript'

const source = new URL('../openapi.json', import.meta.url)
const digest = createHash('sha256')
  .update(await readFile(source))
  .digest('hex')
const types = astToString(
  await openapiTS(source, { alphabetize: true, rootTypes: true, rootTypesNoSchemaPrefix: true }),
)
const head = `// Made by \`npm run codegen\` from openapi.json, SHA-256 ${digest}. Not edited by hand.\n`
await writeFile(new URL('../src/api/schema.d.ts', import.meta.url), head + types)
