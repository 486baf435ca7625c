import { defineConfig } from 'vite'

// light-dark() and @property stay as written: every browser from these on knows them.
const browsers = ['chrome125', 'firefox128', 'safari17.5']

export default defineConfig({
  oxc: { jsx: { runtime: 'automatic', importSource: 'preact' } },
  build: {
    outDir: '../app/underfed_server/static',
    emptyOutDir: true,
    target: browsers,
    cssTarget: browsers,
    // The service's policy is default-src 'self': nothing is inlined.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    // One chunk for all that the first page needs, and one for each part that comes on demand.
    rolldownOptions: { output: { codeSplitting: { groups: [{ name: 'first', tags: ['$initial'] }] } } },
    license: { fileName: 'licenses.md' },
  },
  server: { proxy: { '/api': 'http://127.0.0.1:7077' } },
})
