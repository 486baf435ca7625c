/** A sparkline as path data: the data-stall fraction of a run's last hour, in a table cell. */
import { spans } from './columns'

/** `values`: 0–1, a few dozen as the service sends them; `null` (not measured) breaks the line. Sizes are CSS pixels, coordinates tenths: short paths. */
export function sparkPath(values: readonly (number | null)[], width: number, height: number) {
  const across = width / Math.max(1, values.length)
  const x = (index: number) => tenth(index * across)
  const pieces = spans(values).map(([from, to]) => ({
    left: x(from),
    // Each value holds until the next one.
    steps: values
      .slice(from, to)
      .map((value, index) => `${tenth(height * (1 - (value ?? 0)))}H${x(from + index + 1)}`)
      .join('V'),
  }))
  return {
    line: pieces.map(({ left, steps }) => `M${left},${steps}`).join(''),
    area: pieces.map(({ left, steps }) => `M${left},${height}V${steps}V${height}Z`).join(''),
  }
}

function tenth(value: number): number {
  return Math.round(value * 10) / 10
}
