/** A sparkline as path data: the data-stall fraction of a run's last hour, in a table cell. */
import { spans } from './columns'

export interface Spark {
  line: string
  area: string
}

/** `values`: 0–1, a few dozen as the service sends them; `null` (not measured) breaks the line. Sizes are CSS pixels, coordinates tenths: short paths. */
export function sparkPath(values: readonly (number | null)[], width: number, height: number): Spark {
  const across = width / Math.max(1, values.length - 1)
  const x = (index: number) => tenth(index * across)
  const pieces = spans(values).map(([from, to]) => {
    const points = values
      .slice(from, to)
      .map((value, index) => `${x(from + index)},${tenth(height * (1 - (value ?? 0)))}`)
    return { points: points.join('L'), isAlone: points.length === 1, left: x(from), right: x(to - 1) }
  })
  return {
    // A single value between gaps is a dot.
    line: pieces.map(({ points, isAlone }) => `M${points}${isAlone ? 'h1' : ''}`).join(''),
    area: pieces
      .map(({ points, left, right }) => `M${left},${height}L${points}L${right},${height}Z`)
      .join(''),
  }
}

function tenth(value: number): number {
  return Math.round(value * 10) / 10
}
