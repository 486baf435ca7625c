/** Sentences of the service: a name of a loader stays in one line, and an address is a short link. */
import { text as say } from '../../text/shared'
import { pieces } from './links'

/** The agent's own names; those of a program are whole words to a browser, or its to break. */
const NAME = /(loader-\d+)/

export function Sentences({ text }: { text: string }) {
  return (
    <>
      {pieces(text).map((piece, index) =>
        piece.href === undefined ? (
          <Words key={index} text={piece.text} />
        ) : (
          <a key={index} href={piece.href} title={piece.href} rel="noreferrer">
            {say.docs}
          </a>
        ),
      )}
    </>
  )
}

function Words({ text }: { text: string }) {
  const parts = text.split(NAME)
  return (
    <>
      {parts.map((part, index) =>
        index % 2 === 0 ? (
          part
        ) : (
          <span key={index} class="whole">
            {part}
          </span>
        ),
      )}
    </>
  )
}
