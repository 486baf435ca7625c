/** What people wrote of a run. */
import { type Block, blocks, type Span } from './markdown'
import './Notes.css'

export function Notes({ text }: { text: string }) {
  return (
    <div class="notes quiet">
      {blocks(text).map((block, index) => (
        <NotesBlock key={index} block={block} />
      ))}
    </div>
  )
}

function NotesBlock({ block }: { block: Block }) {
  if (block.kind === 'pre') return <pre>{block.text}</pre>
  if (block.kind === 'p') return <p>{shown(block.spans)}</p>
  if (block.kind === 'heading') {
    return (
      <p>
        <strong>{shown(block.spans)}</strong>
      </p>
    )
  }
  const items = block.items.map((spans, index) => <li key={index}>{shown(spans)}</li>)
  return block.kind === 'ul' ? <ul>{items}</ul> : <ol>{items}</ol>
}

function shown(spans: readonly Span[]) {
  return spans.map(({ kind, text, href }, index) => {
    if (href) {
      return (
        <a key={index} href={href} rel="noopener noreferrer nofollow" target="_blank">
          {text}
        </a>
      )
    }
    if (kind === 'code') return <code key={index}>{text}</code>
    if (kind === 'strong') return <strong key={index}>{text}</strong>
    if (kind === 'em') return <em key={index}>{text}</em>
    return text
  })
}
