/** The width of an element as it changes. */

/** `take` gets it in CSS pixels, now and whenever it is another. Returns a function that ends it. */
export function followWidth(element: Element, take: (px: number) => void): () => void {
  const measure = () => take(element.clientWidth)
  measure()
  const observer = new ResizeObserver(measure)
  observer.observe(element)
  return () => observer.disconnect()
}
