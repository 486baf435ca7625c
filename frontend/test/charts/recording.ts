/** A canvas context that notes what it is asked to draw, and how: a chart's picture as data. */
import { onTestFinished, vi } from 'vitest'

export type Point = readonly [x: number, y: number]

/** One thing that was drawn, with the state in which it was; colours are names of style tokens. */
export interface Mark {
  kind: 'stroke' | 'fill' | 'rect' | 'outline' | 'text'
  colour: string
  alpha: number
  dash: readonly number[]
  /** Of the line, or the text's. */
  width: number
  /** Corners of a path, or of a rectangle from the upper left; where a text stands. */
  points: readonly Point[]
  text: string
  align: string
  /** What was drawn beyond this was cut off; `null`: nothing was. */
  clip: readonly Point[] | null
}

/** Of every character, in CSS pixels. */
export const CHARACTER = 6

export class Recording {
  readonly marks: Mark[] = []
  fillStyle = ''
  strokeStyle = ''
  lineWidth = 1
  globalAlpha = 1
  font = ''
  textAlign = 'left'
  #dash: readonly number[] = []
  #path: Point[] = []
  #clip: readonly Point[] | null = null
  #offset: Point = [0, 0]
  readonly #saved: (readonly [Point, readonly Point[] | null])[] = []

  get context(): CanvasRenderingContext2D {
    return this as unknown as CanvasRenderingContext2D
  }
  save(): void {
    this.#saved.push([this.#offset, this.#clip])
  }
  restore(): void {
    const [offset, clip] = this.#saved.pop() ?? [[0, 0] as const, null]
    this.#offset = offset
    this.#clip = clip
  }
  translate(x: number, y: number): void {
    this.#offset = this.#at(x, y)
  }
  beginPath(): void {
    this.#path = []
  }
  moveTo(x: number, y: number): void {
    this.#path.push(this.#at(x, y))
  }
  lineTo(x: number, y: number): void {
    this.#path.push(this.#at(x, y))
  }
  arc(x: number, y: number): void {
    this.#path.push(this.#at(x, y))
  }
  rect(x: number, y: number, width: number, height: number): void {
    this.#path.push(...this.#corners(x, y, width, height))
  }
  clip(): void {
    this.#clip = this.#path
  }
  setLineDash(dash: readonly number[]): void {
    this.#dash = dash
  }
  stroke(): void {
    this.#note('stroke', this.strokeStyle, this.#path)
  }
  fill(): void {
    this.#note('fill', this.fillStyle, this.#path)
  }
  fillRect(x: number, y: number, width: number, height: number): void {
    this.#note('rect', this.fillStyle, this.#corners(x, y, width, height))
  }
  strokeRect(x: number, y: number, width: number, height: number): void {
    this.#note('outline', this.strokeStyle, this.#corners(x, y, width, height))
  }
  fillText(text: string, x: number, y: number): void {
    this.#note('text', this.fillStyle, [this.#at(x, y)], text)
  }
  measureText(text: string): { width: number } {
    return { width: CHARACTER * text.length }
  }
  createPattern(): null {
    return null
  }
  reset(): void {
    this.marks.length = 0
  }
  scale(): void {}

  /** Lines of one colour, without those of the grid. */
  strokes(colour: string): readonly Mark[] {
    return this.of('stroke', colour)
  }
  of(kind: Mark['kind'], colour?: string): readonly Mark[] {
    return this.marks.filter(mark => mark.kind === kind && (colour === undefined || mark.colour === colour))
  }
  texts(): readonly string[] {
    return this.of('text').map(({ text }) => text)
  }
  textNamed(text: string): Mark {
    const found = this.of('text').find(mark => mark.text === text)
    if (!found) throw new Error(`${text} is none of ${this.texts().join(', ')}`)
    return found
  }

  #at(x: number, y: number): Point {
    return [this.#offset[0] + x, this.#offset[1] + y]
  }
  #corners(x: number, y: number, width: number, height: number): readonly Point[] {
    return [this.#at(x, y), this.#at(x + width, y + height)]
  }
  #note(kind: Mark['kind'], colour: string, points: readonly Point[], text = ''): void {
    for (const [x, y] of points)
      if (!Number.isFinite(x) || !Number.isFinite(y)) throw new Error(`${kind} at ${x}, ${y}`)
    const { globalAlpha: alpha, lineWidth: width, textAlign: align } = this
    const [dash, clip] = [this.#dash, this.#clip]
    this.marks.push({ kind, colour, alpha, dash, width, points: [...points], text, align, clip })
  }
}

/** The browser's, as far as drawing asks it: a token is the colour of its own name, the hatch is `wait-fill`. */
export function stubBrowser(): void {
  vi.stubGlobal('devicePixelRatio', 1)
  vi.stubGlobal('getComputedStyle', () => ({ getPropertyValue: (token: string) => token.slice(2) }))
  vi.stubGlobal('document', {
    documentElement: {},
    createElement: () => ({ getContext: () => new Recording() }),
  })
}

/** In a document: every canvas is recorded, in the order in which they were made. Returns them. */
export function recordCanvas(): readonly Recording[] {
  const recordings = new Map<HTMLCanvasElement, Recording>()
  const all: Recording[] = []
  vi.spyOn(HTMLCanvasElement.prototype, 'getContext').mockImplementation(function (this: HTMLCanvasElement) {
    const known = recordings.get(this) ?? new Recording()
    if (!recordings.has(this)) all.push(known)
    recordings.set(this, known)
    return known as never
  } as never)
  Object.defineProperty(document, 'fonts', { value: { status: 'loaded' }, configurable: true })
  onTestFinished(() => void Reflect.deleteProperty(document, 'fonts'))
  return all
}

interface Drawn {
  scale(width: number): unknown
  draw(context: CanvasRenderingContext2D, scale: never): void
}

export function record(drawn: Drawn, width: number): Recording {
  const recording = new Recording()
  drawn.draw(recording.context, drawn.scale(width) as never)
  return recording
}

/** Lines between two points, of all strokes. */
export function segments(marks: readonly Mark[]): number {
  return marks.reduce((sum, { points }) => sum + Math.max(0, points.length - 1), 0)
}
