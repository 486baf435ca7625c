import { describe, expect, test } from 'vitest'
import { blocks, spans } from '../../src/ui/parts/markdown'

describe('notes in Markdown', () => {
  test('are paragraphs, headings, lists and code', () => {
    const text = '# Why\nslow\nstill\n\n- one\n- two\n1. first\n```\n**kept**\n\n- as typed\n```\nend'
    expect(blocks(text)).toEqual([
      { kind: 'heading', spans: [{ text: 'Why' }] },
      { kind: 'p', spans: [{ text: 'slow\nstill' }] },
      { kind: 'ul', items: [[{ text: 'one' }], [{ text: 'two' }]] },
      { kind: 'ol', items: [[{ text: 'first' }]] },
      { kind: 'pre', text: '**kept**\n\n- as typed' },
      { kind: 'p', spans: [{ text: 'end' }] },
    ])
  })

  test.each([
    ['`a*b*c`', [{ kind: 'code', text: 'a*b*c' }]],
    [
      '**bold** and *thin*',
      [{ kind: 'strong', text: 'bold' }, { text: ' and ' }, { kind: 'em', text: 'thin' }],
    ],
    [
      '[run 4](https://x.org/4), [bad](javascript:alert)',
      [{ text: 'run 4', href: 'https://x.org/4' }, { text: ', [bad](javascript:alert)' }],
    ],
    ['see http://x.org.', [{ text: 'see ' }, { text: 'http://x.org', href: 'http://x.org' }, { text: '.' }]],
    ['2 * 3 * 4, num_workers, <b>x</b>', [{ text: '2 * 3 * 4, num_workers, <b>x</b>' }]],
  ])('%s', (text, expected) => {
    expect(spans(text)).toEqual(expected)
  })

  test.each(['[', '*', '**a', '`', '[a](http://', '# ', '- ', '- a\n\n'])(
    'of many %j take no longer than they are long',
    mark => {
      const text = mark.repeat(100_000 / mark.length)
      const written = JSON.stringify(blocks(text))
      expect(written.length).toBeGreaterThan(0)
    },
  )
})
