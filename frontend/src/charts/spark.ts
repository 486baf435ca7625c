/** A sparkline as path data: the data-stall fraction of a run's last hour, in a table cell. */

export interface Spark {
  line: string
  area: string
}

/** `null` (not measured) breaks the line. Coordinates are whole tenths of a pixel: short paths. */
export function sparkPath(values: readonly (number | null)[], width: number, height: number): Spark {
  const across = width / Math.max(1, values.length - 1)
  const points = values.map((value, index) =>
    value === null ? null : { x: tenth(index * across), y: tenth(height * (1 - value)) },
  )
  const pieces = runsOf(points)
  return {
    line: pieces.map(piece => `M${piece.map(({ x, y }) => `${x},${y}`).join('L')}`).join(''),
    area: pieces
      .map(
        piece =>
          `M${piece[0]?.x},${height}L${piece.map(({ x, y }) => `${x},${y}`).join('L')}L${piece.at(-1)?.x},${height}Z`,
      )
      .join(''),
  }
}

function tenth(value: number): number {
  return Math.round(value * 10) / 10
}

/** Unbroken stretches. */
function runsOf<T>(points: readonly (T | null)[]): T[][] {
  const pieces: T[][] = [[]]
  for (const point of points) {
    if (point !== null) pieces.at(-1)?.push(point)
    else pieces.push([])
  }
  return pieces.filter(piece => piece.length > 0)
}
