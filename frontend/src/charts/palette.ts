/** The colours of the style sheet, as a canvas wants them, and the hatch that means waiting. */

export const TOKENS = [
  ...(['paper', 'sunk', 'ink', 'ink-2', 'ink-3', 'rule', 'hair'] as const),
  ...(['wait', 'wait-fill', 'wait-soft', 'copy', 'copy-fill', 'compute', 'compute-fill', 'heat'] as const),
  ...(['load', 'load-cpu', 'load-runqueue', 'load-blocked'] as const),
  ...(['run-1', 'run-2', 'run-3', 'run-4', 'run-5', 'run-6', 'run-7'] as const),
] as const

export type Palette = Record<(typeof TOKENS)[number], string> & { hatch: CanvasPattern | string }

export type Colour = Exclude<keyof Palette, 'hatch'>

export const FONT = '11.5px "Plex Sans", system-ui, sans-serif'
export const TEXT_FONT = '12.5px "Plex Sans", system-ui, sans-serif'
export const LABEL_FONT = '550 12px "Plex Sans", system-ui, sans-serif'

let cached: Palette | null = null
const redraws = new Set<() => void>()

export function palette(): Palette {
  cached ??= readPalette()
  return cached
}

function readPalette(): Palette {
  const style = getComputedStyle(document.documentElement)
  const colours = Object.fromEntries(TOKENS.map(token => [token, style.getPropertyValue(`--${token}`)]))
  const read = colours as Omit<Palette, 'hatch'>
  return { ...read, hatch: hatch(read['wait-fill'], read.wait) } as Palette
}

/** Diagonal lines, so that waiting is recognised without colour. The tile repeats without a seam. */
function hatch(fill: string, line: string): CanvasPattern | string {
  const scale = devicePixelRatio
  const size = Math.round(8 * scale)
  const tile = document.createElement('canvas')
  tile.width = size
  tile.height = size
  const context = tile.getContext('2d')
  if (!context) return fill
  context.fillStyle = fill
  context.fillRect(0, 0, size, size)
  context.globalAlpha = 0.5
  context.strokeStyle = line
  context.lineWidth = 1.6 * scale
  context.beginPath()
  for (const shift of [-size, 0, size]) {
    context.moveTo(shift, size)
    context.lineTo(shift + size, 0)
  }
  context.stroke()
  const pattern = context.createPattern(tile, 'repeat')
  // Charts count in CSS pixels.
  pattern?.setTransform(new DOMMatrix().scale(1 / scale))
  return pattern ?? fill
}

// Paper has colours of its own.
if (typeof matchMedia === 'function') matchMedia('print').addEventListener('change', repaint)

/** The window came to a screen of another sharpness, or was zoomed. A query holds for one ratio only. */
function followPixelRatio(): void {
  matchMedia(`(resolution: ${devicePixelRatio}dppx)`).addEventListener(
    'change',
    () => {
      repaint()
      followPixelRatio()
    },
    { once: true },
  )
}
if (typeof matchMedia === 'function') followPixelRatio()

/** The theme changed: all charts must be drawn again. */
export function repaint(): void {
  cached = null
  for (const redraw of redraws) redraw()
}

export function onRepaint(redraw: () => void): () => void {
  redraws.add(redraw)
  return () => redraws.delete(redraw)
}
