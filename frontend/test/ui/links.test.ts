import { expect, test } from 'vitest'
import { pieces } from '../../src/ui/parts/links'

const linked = (text: string) => pieces(text).flatMap(({ href }) => href ?? [])

test.each([
  ['see https://wandb.ai/a/b?x=1#c.', ['https://wandb.ai/a/b?x=1#c']],
  ['(http://host:7077/runs/x)', ['http://host:7077/runs/x']],
  ['https://en.wikipedia.org/wiki/Stall_(engine), then', ['https://en.wikipedia.org/wiki/Stall_(engine)']],
  ['HTTPS://A.B\nhttp://c.d', ['HTTPS://A.B', 'http://c.d']],
  ['javascript:alert(1) data:text/html,x ftp://a.b file:///etc www.a.b', []],
  ['http:// https://. https://[', []],
  ['<a href="https://a.b">x</a>', ['https://a.b']],
])('of %j the addresses are %j', (text, expected) => {
  expect(linked(text)).toEqual(expected)
})

test('nothing of the text is lost or changed', () => {
  for (const text of [
    '',
    'a',
    '\u00e4 https://a.b/\u00fc c <b>',
    ' https://a.b. ',
    `${'x'.repeat(10)}))))https://a))))`,
  ])
    expect(
      pieces(text)
        .map(piece => piece.text)
        .join(''),
    ).toBe(text)
})

test('a long run of closing signs is no part of an address', () => {
  expect(linked(`https://a.b/${')'.repeat(90_000)}`)).toEqual(['https://a.b/'])
})
