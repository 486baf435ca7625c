/** A component that is rendered again only when a property, or a signal that it reads, has changed. */
import { type FunctionComponent, h } from 'preact'
import { useMemo } from 'preact/hooks'

/** For components whose parents change more often than they do. Every use must pass the same properties in the same order. */
export function memo<P extends object>(Part: FunctionComponent<P>): FunctionComponent<P> {
  return properties => useMemo(() => h(Part, properties), Object.values(properties))
}
