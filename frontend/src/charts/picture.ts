/** A panel as a picture: its words and charts, drawn anew below one another, the same on every screen. */
import type { Drawn } from './mount'
import { LABEL_FONT, type Palette, palette, TEXT_FONT } from './palette'

/** One thing that a picture has, over its whole width. */
export interface Block {
  /** CSS pixels. */
  height(context: CanvasRenderingContext2D, width: number): number
  /** From the upper left corner, which is 0, 0. */
  draw(context: CanvasRenderingContext2D, width: number): void
}

/** CSS pixels; the picture has twice as many of its own. */
const WIDTH = 960
const PAD = 24
const SCALE = 2
const LINE = 20
const TITLE_FONT = '600 15px "Plex Sans", system-ui, sans-serif'
const SWATCH = 11

/** As a PNG. Raises: Error when the browser makes no picture of it. */
export function pictureOf(blocks: readonly Block[]): Promise<Blob> {
  const canvas = document.createElement('canvas')
  const context = canvas.getContext('2d') as CanvasRenderingContext2D
  const height = blocks.reduce((sum, block) => sum + block.height(context, WIDTH), 2 * PAD)
  canvas.width = (WIDTH + 2 * PAD) * SCALE
  canvas.height = height * SCALE
  context.scale(SCALE, SCALE)
  compose(context, blocks, height)
  return new Promise((resolve, reject) =>
    canvas.toBlob(blob => (blob ? resolve(blob) : reject(new Error('no picture'))), 'image/png'),
  )
}

/** `height` of all of them and the edge around them, in CSS pixels. */
export function compose(context: CanvasRenderingContext2D, blocks: readonly Block[], height: number): void {
  context.fillStyle = palette().paper
  context.fillRect(0, 0, WIDTH + 2 * PAD, height)
  context.translate(PAD, PAD)
  for (const block of blocks) {
    context.save()
    block.draw(context, WIDTH)
    context.restore()
    context.translate(0, block.height(context, WIDTH))
  }
}

export function chart(drawn: Drawn): Block {
  return {
    height: () => drawn.height,
    draw: (context, width) => drawn.draw(context, drawn.scale(width)),
  }
}

/** A title with its small print beside it. */
export function heading(title: string, detail: string, isMain = false): Block {
  return {
    height: () => LINE + (isMain ? 8 : 4),
    draw(context) {
      context.font = isMain ? TITLE_FONT : LABEL_FONT
      context.fillStyle = palette().ink
      context.fillText(title, 0, LINE - 6)
      const left = context.measureText(title).width + 10
      context.font = TEXT_FONT
      context.fillStyle = palette()['ink-2']
      context.fillText(detail, left, LINE - 6)
    },
  }
}

/** Broken into lines where the width ends. */
export function paragraph(text: string): Block {
  return {
    height: (context, width) => LINE * wrapped(context, text, width).length,
    draw(context, width) {
      context.fillStyle = palette()['ink-2']
      wrapped(context, text, width).forEach((words, index) => {
        context.fillText(words, 0, LINE * (index + 1) - 6)
      })
    },
  }
}

/** Sets the font it measures with, too. */
function wrapped(context: CanvasRenderingContext2D, text: string, width: number): readonly string[] {
  context.font = TEXT_FONT
  const found: string[] = []
  for (const word of text.split(/\s+/)) {
    const longer = found.length === 0 ? word : `${found.at(-1)} ${word}`
    if (found.length > 0 && context.measureText(longer).width <= width) found[found.length - 1] = longer
    else found.push(word)
  }
  return found
}

/** A small square of each colour, with what it means. */
export function legend(entries: readonly (readonly [colour: keyof Palette, name: string])[]): Block {
  return {
    height: () => LINE + 4,
    draw(context) {
      context.font = TEXT_FONT
      let left = 0
      for (const [colour, name] of entries) {
        context.fillStyle = palette()[colour]
        context.fillRect(left, 4, SWATCH, SWATCH)
        context.fillStyle = palette()['ink-2']
        context.fillText(name, left + SWATCH + 5, LINE - 6)
        left += SWATCH + 20 + context.measureText(name).width
      }
    },
  }
}

/** The first row heads the others; the first column is as wide as its cells, the others share what is left. */
export function table(rows: readonly (readonly string[])[]): Block {
  return {
    height: (context, width) =>
      linesOf(context, rows, width).reduce((sum, cells) => sum + LINE * linesIn(cells), 0),
    draw(context, width) {
      const widths = columnWidths(context, rows, width)
      let top = 0
      linesOf(context, rows, width).forEach((cells, row) => {
        context.fillStyle = palette()[row === 0 ? 'ink-3' : 'ink']
        let left = 0
        cells.forEach((words, column) => {
          for (const [index, text] of words.entries())
            context.fillText(text, left, top + LINE * (index + 1) - 6)
          left += widths[column] ?? 0
        })
        top += LINE * linesIn(cells)
      })
    },
  }
}

type Lines = readonly (readonly string[])[]

/** Cells are broken into lines where their column ends: `[row][column][line]`. */
function linesOf(context: CanvasRenderingContext2D, rows: Lines, width: number): readonly Lines[] {
  const widths = columnWidths(context, rows, width)
  return rows.map(cells => cells.map((cell, column) => wrapped(context, cell, (widths[column] ?? 0) - 12)))
}

function linesIn(cells: Lines): number {
  return Math.max(1, ...cells.map(lines => lines.length))
}

function columnWidths(context: CanvasRenderingContext2D, rows: Lines, width: number): readonly number[] {
  context.font = TEXT_FONT
  const [, ...others] = rows[0] ?? []
  const needed = Math.max(0, ...rows.map(([cell = '']) => context.measureText(cell).width)) + 20
  const first = Math.min(width / 2, needed)
  return [first, ...others.map(() => (width - first) / others.length)]
}
