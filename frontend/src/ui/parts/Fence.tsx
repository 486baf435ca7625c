/** Around a part of a page: where drawing it fails, the rest stays as it is. */
import type { ComponentChildren } from 'preact'
import { useErrorBoundary } from 'preact/hooks'
import { FaultBanner } from './Banner'

export function Fence({ children }: { children: ComponentChildren }) {
  const [fault, retry] = useErrorBoundary()
  return fault ? <FaultBanner error={fault as Error} onRetry={retry} /> : children
}
