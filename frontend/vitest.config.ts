import { defineConfig, mergeConfig } from 'vitest/config'
import build from './vite.config.ts'

// Times are shown in the reader's zone: in tests that is one, whatever the machine's is.
process.env.TZ = 'UTC'

export default mergeConfig(
  build,
  defineConfig({
    test: {
      // A file that needs a page says so in its first line: to make one costs more than most files.
      environment: 'node',
      // A file's thread starts in a fraction of the time that its process takes.
      pool: 'threads',
      // Nor does each file get a thread of its own, which costs three times as much: test/fresh.ts parts them.
      isolate: false,
      include: ['test/**/*.test.{ts,tsx}'],
      restoreMocks: true,
      setupFiles: ['test/node20.ts', 'test/fresh.ts'],
    },
  }),
)
