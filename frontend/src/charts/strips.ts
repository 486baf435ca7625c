/** Load times of workers side by side: a lane each, with a bar from p5 to p95, a dot at the median, and the limit through all. */
import { formatDuration } from '../format'
import { type Scale, scaleOf } from './axes'
import { palette, TEXT_FONT } from './palette'
import { area, type Context, letters, limitLine, line } from './pen'
import type { Drawn } from './surface'

/** What one worker took for a batch, in µs. */
export interface Load {
  p5: number
  p50: number
  p95: number
}

export interface Strips {
  /** From the top downwards. `load` is `null` where no batch was loaded: `missing` stands instead of the figure. */
  lanes: readonly { name: string; load: Load | null }[]
  missing: string
  /** Longer load times keep training waiting; `null`: no such limit is known. */
  limitUs: number | null
}

/** CSS pixels. */
const LANE = 30
const TOP = 4
const BOTTOM = 20
const SIDES = { left: 74, right: 64 }
const BAR = 6
const DOT = 5
/** A tick's label and the air around it, in CSS pixels. */
const LABEL_WIDTH = 60

/** `y` of its scale is the middle of a lane, by its place from the top. */
export function strips(data: Strips): Drawn {
  const loads = data.lanes.flatMap(({ load }) => load ?? [])
  const endUs = axisEnd(Math.max(...loads.map(({ p95 }) => p95), (data.limitUs ?? 0) * 1.1))
  const bottom = TOP + data.lanes.length * LANE
  return {
    height: bottom + BOTTOM,
    scale: width => ({
      ...scaleOf({ from: 0, to: endUs }, width, SIDES, [TOP, bottom], () => 0),
      y: lane => TOP + (lane + 0.5) * LANE,
    }),
    draw(context, scale) {
      drawTicks(context, endUs, scale)
      const limitX = scale.x(data.limitUs ?? 0)
      if (data.limitUs !== null) limitLine(context, limitX, scale.top, limitX, scale.bottom)
      data.lanes.forEach(({ name, load }, lane) => {
        const y = scale.y(lane)
        letters(context, 'ink-2', TEXT_FONT)
        context.fillText(name, 0, y + 4)
        letters(context, 'ink', TEXT_FONT, 'right')
        context.fillText(load ? formatDuration(load.p50) : data.missing, scale.width, y + 4)
        if (load) drawLoad(context, load, y, scale)
      })
    },
  }
}

function drawTicks(context: Context, endUs: number, scale: Scale): void {
  const isNarrow = (scale.right - scale.left) / 4 < LABEL_WIDTH
  context.lineWidth = 1
  context.strokeStyle = palette().hair
  letters(context, 'ink-3', undefined, 'center')
  for (const quarter of [0, 1, 2, 3, 4]) {
    const us = (endUs * quarter) / 4
    line(context, scale.x(us), scale.top, scale.x(us), scale.bottom)
    if (isNarrow && quarter % 2 === 1) continue
    context.fillText(us === 0 ? '0' : formatDuration(us), scale.x(us), scale.bottom + 14)
  }
}

function drawLoad(context: Context, { p5, p50, p95 }: Load, y: number, { x }: Scale): void {
  context.globalAlpha = 0.3
  area(context, 'heat', [x(p5), y - BAR / 2, x(p95) - x(p5), BAR])
  context.globalAlpha = 1
  context.beginPath()
  context.arc(x(p50), y, DOT, 0, 2 * Math.PI)
  context.fill()
}

/** The next 1, 2, 4 or 8 of a power of ten, so that quarters are round. */
function axisEnd(us: number): number {
  const power = 10 ** Math.floor(Math.log10(Math.max(1, us)))
  return [1, 2, 4, 8, 10].map(factor => factor * power).find(end => end >= us) ?? us
}
