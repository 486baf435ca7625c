import { defineConfig, mergeConfig } from 'vitest/config'
import build from './vite.config.ts'

export default mergeConfig(
  build,
  defineConfig({
    test: {
      environment: 'happy-dom',
      include: ['test/**/*.test.{ts,tsx}'],
      restoreMocks: true,
      setupFiles: ['test/node20.ts'],
    },
  }),
)
