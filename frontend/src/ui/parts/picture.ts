/** A part of the page as a picture, painted from what the browser has laid out: charts, words, bars and marks. */
import { repaint } from '../../charts/palette'

const PAD = 24
const HEAD = 4
const SCALE = 2
const LEFT_OUT = '.controls, .visually-hidden, [popover], [role="slider"]'

/** On paper, under a line in the colour of token `tone` that says of what it is. Raises: Error when the browser makes no picture of it. */
export function pictureOf(part: HTMLElement, caption: string, tone: string): Promise<Blob> {
  // Charts off the screen are drawn when they are scrolled to.
  repaint()
  const box = part.getBoundingClientRect()
  const canvas = document.createElement('canvas')
  canvas.width = (box.width + 2 * PAD) * SCALE
  canvas.height = (box.height + 2 * PAD + HEAD) * SCALE
  const context = canvas.getContext('2d') as CanvasRenderingContext2D
  context.scale(SCALE, SCALE)
  const page = getComputedStyle(document.documentElement)
  context.fillStyle = page.getPropertyValue('--paper')
  context.fillRect(0, 0, canvas.width, canvas.height)
  context.fillStyle = page.getPropertyValue(tone)
  context.font = `13px ${page.fontFamily}`
  context.fillText(caption, PAD, PAD + 8, box.width)
  context.translate(PAD - box.left, PAD + HEAD - box.top)
  paint(context, part)
  return new Promise((resolve, reject) =>
    canvas.toBlob(blob => (blob ? resolve(blob) : reject(new Error('no picture'))), 'image/png'),
  )
}

function paint(context: CanvasRenderingContext2D, element: Element): void {
  const style = getComputedStyle(element)
  const box = element.getBoundingClientRect()
  if (element.matches(LEFT_OUT) || style.visibility === 'hidden' || box.width + box.height === 0) return
  if (element instanceof HTMLCanvasElement) {
    context.drawImage(element, box.left, box.top, box.width, box.height)
    return
  }
  if (element instanceof SVGGeometryElement) {
    paintShape(context, element, style)
    return
  }
  paintBox(context, box, style)
  for (const child of element.childNodes) {
    if (child instanceof Element) paint(context, child)
    else if (child instanceof Text) paintText(context, child, style)
  }
}

function paintBox(context: CanvasRenderingContext2D, box: DOMRect, style: CSSStyleDeclaration): void {
  const round = style.borderTopLeftRadius
  context.fillStyle = style.backgroundColor
  context.beginPath()
  context.roundRect(
    box.left,
    box.top,
    box.width,
    box.height,
    round.endsWith('%') ? box.width / 2 : Number.parseFloat(round),
  )
  context.fill()
  paintEdge(context, style, 'bottom', box.left, box.bottom, box.right, box.bottom)
  paintEdge(context, style, 'left', box.left, box.top, box.left, box.bottom)
}

function paintEdge(
  context: CanvasRenderingContext2D,
  style: CSSStyleDeclaration,
  side: 'bottom' | 'left',
  ...[fromX, fromY, toX, toY]: [number, number, number, number]
): void {
  const width = Number.parseFloat(style.getPropertyValue(`border-${side}-width`))
  if (width === 0) return
  context.strokeStyle = style.getPropertyValue(`border-${side}-color`)
  context.lineWidth = width
  context.setLineDash(style.getPropertyValue(`border-${side}-style`) === 'dashed' ? [4, 3] : [])
  context.beginPath()
  context.moveTo(fromX, fromY)
  context.lineTo(toX, toY)
  context.stroke()
  context.setLineDash([])
}

/** Of a glyph: what its 12 units are on the page is in its own matrix. */
function paintShape(
  context: CanvasRenderingContext2D,
  shape: SVGGeometryElement,
  style: CSSStyleDeclaration,
): void {
  const { a, b, c, d, e, f } = shape.getScreenCTM() as DOMMatrix
  const outline = new Path2D(shape.getAttribute('d') ?? '')
  const [x, y, radius] = ['cx', 'cy', 'r'].map(name => Number(shape.getAttribute(name) ?? 0))
  if (radius) outline.arc(x ?? 0, y ?? 0, radius, 0, 2 * Math.PI)
  context.save()
  context.transform(a, b, c, d, e, f)
  if (style.fill !== 'none') {
    context.fillStyle = style.fill
    context.fill(outline)
  }
  if (style.stroke !== 'none') {
    context.strokeStyle = style.stroke
    context.lineWidth = Number.parseFloat(style.strokeWidth)
    context.stroke(outline)
  }
  context.restore()
}

/** Word by word, where the browser put each: so lines break as they do on the page. */
function paintText(context: CanvasRenderingContext2D, text: Text, style: CSSStyleDeclaration): void {
  context.font = `${style.fontWeight} ${style.fontSize} ${style.fontFamily}`
  context.fillStyle = style.color
  context.textBaseline = 'middle'
  const range = document.createRange()
  for (const word of text.data.matchAll(/\S+/g)) {
    range.setStart(text, word.index)
    range.setEnd(text, word.index + word[0].length)
    const place = range.getBoundingClientRect()
    context.fillText(word[0], place.left, place.top + place.height / 2)
  }
}
