/** A panel as a picture: its words and charts, drawn anew below one another, the same on every screen. */
import { fitted } from './labels'
import { LABEL_FONT, type Palette, TEXT_FONT } from './palette'
import { area, type Context, letters } from './pen'
import type { Drawn } from './surface'

/** One thing that a picture has, over its whole width. */
export interface Block {
  /** CSS pixels. */
  height: number
  /** From the upper left corner, which is 0, 0. */
  draw(context: Context, width: number): void
}

/** CSS pixels; the picture has twice as many device pixels. */
const WIDTH = 960
const PAD = 24
const SCALE = 2
const LINE = 20
const TITLE_FONT = '600 15px "Plex Sans", system-ui, sans-serif'
const SWATCH = 11
/** Between two columns of a table. */
const GAP = 16

/** As a PNG. Raises: Error when the browser cannot encode it. */
export function pictureOf(blocks: readonly Block[]): Promise<Blob> {
  const canvas = document.createElement('canvas')
  const context = canvas.getContext('2d') as Context
  const height = blocks.reduce((sum, block) => sum + block.height, 2 * PAD)
  canvas.width = (WIDTH + 2 * PAD) * SCALE
  canvas.height = height * SCALE
  context.scale(SCALE, SCALE)
  compose(context, blocks, height)
  return new Promise((resolve, reject) =>
    canvas.toBlob(blob => (blob ? resolve(blob) : reject(new Error('no picture'))), 'image/png'),
  )
}

/** `height` of all of them and the edge around them, in CSS pixels. */
export function compose(context: Context, blocks: readonly Block[], height: number): void {
  area(context, 'paper', [0, 0, WIDTH + 2 * PAD, height])
  context.translate(PAD, PAD)
  for (const block of blocks) {
    context.save()
    block.draw(context, WIDTH)
    context.restore()
    context.translate(0, block.height)
  }
}

export function chart(drawn: Drawn): Block {
  return {
    height: drawn.height,
    draw: (context, width) => drawn.draw(context, drawn.scale(width)),
  }
}

/** A title with its small print beside it. */
export function heading(title: string, detail: string, isMain = false): Block {
  return {
    height: LINE + (isMain ? 8 : 4),
    draw(context) {
      letters(context, 'ink', isMain ? TITLE_FONT : LABEL_FONT)
      context.fillText(title, 0, LINE - 6)
      const left = context.measureText(title).width + 10
      letters(context, 'ink-2', TEXT_FONT)
      context.fillText(detail, left, LINE - 6)
    },
  }
}

/** In one line; what does not fit is cut. */
export function paragraph(text: string): Block {
  return {
    height: LINE,
    draw(context, width) {
      letters(context, 'ink-2', TEXT_FONT)
      context.fillText(fitted(context, text, width), 0, LINE - 6)
    },
  }
}

/** A small square of each colour, with what it means. */
export function legend(entries: readonly (readonly [colour: keyof Palette, name: string])[]): Block {
  return {
    height: LINE + 4,
    draw(context) {
      let left = 0
      for (const [colour, name] of entries) {
        area(context, colour, [left, 4, SWATCH, SWATCH])
        letters(context, 'ink-2', TEXT_FONT)
        context.fillText(name, left + SWATCH + 5, LINE - 6)
        left += SWATCH + 20 + context.measureText(name).width
      }
    },
  }
}

/** The first row heads the others; a column is as wide as its cells; where all together have no room, long cells are cut. */
export function table(rows: readonly (readonly string[])[]): Block {
  return {
    height: LINE * rows.length,
    draw(context, width) {
      context.font = TEXT_FONT
      const [heads = []] = rows
      const most = (1.5 * width) / heads.length
      const needed = heads.map((_, column) =>
        Math.min(most, Math.max(...rows.map(cells => context.measureText(cells[column] ?? '').width)) + GAP),
      )
      const stretch = width / needed.reduce((sum, each) => sum + each, 0)
      const widths = needed.map(each => each * stretch)
      rows.forEach((cells, row) => {
        letters(context, row === 0 ? 'ink-3' : 'ink', TEXT_FONT)
        let left = 0
        cells.forEach((cell, column) => {
          const room = widths[column] ?? 0
          context.fillText(fitted(context, cell, room - GAP), left, LINE * (row + 1) - 6)
          left += room
        })
      })
    },
  }
}
