/** A part of the page that is made again only when one of its properties is another, or a signal that it reads. */
import { type FunctionComponent, h } from 'preact'
import { useMemo } from 'preact/hooks'

/** For parts whose parents change more often than they: each is always given the same properties, by name and order. */
export function memo<P extends object>(Part: FunctionComponent<P>): FunctionComponent<P> {
  return properties => useMemo(() => h(Part, properties), Object.values(properties))
}
