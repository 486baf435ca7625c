/** What happened, the newest first: each with its time, and more of it on demand. */
import { useSignal } from '@preact/signals'
import type { ComponentChildren } from 'preact'
import type { Reading, Resource } from '../../store/resource'
import { TroubleBanner } from './Banner'
import { Button } from './Button'
import { useAnswer } from './stores'
import { When } from './When'
import './Log.css'

/** Of what is shown first. */
const FEW = 20

interface Page {
  next_cursor: string | null
}

export interface Logged<P extends Page> {
  page: Resource<P>
  /** `null`: there is no more, or the service sends no more at once. */
  more: (() => void) | null
}

/** `most`: the service sends at most this many at once. */
export function useLog<P extends Page>(
  ask: (limit: number, stop: AbortSignal) => Promise<P>,
  most: number,
  reading: Reading,
  inputs: readonly unknown[] = [],
): Logged<P> {
  const limit = useSignal(FEW)
  const page = useAnswer(stop => ask(limit.value, stop), inputs, reading, [limit.value])
  const more = () => {
    limit.value = Math.min(most, limit.value * 4)
  }
  return { page, more: page.value?.next_cursor && limit.value < most ? more : null }
}

interface LogProps<P extends Page, E> {
  log: Logged<P>
  say: { what: string; none: string; more: string }
  entriesOf(page: P): readonly E[]
  /** When, and what. */
  shown(entry: E): readonly [at: string, content: ComponentChildren]
}

export function Log<P extends Page, E>({ log: { page, more }, say, entriesOf, shown }: LogProps<P, E>) {
  const [found, trouble] = [page.value, page.trouble.value]
  if (!found) return trouble && <TroubleBanner what={say.what} error={trouble} />
  const entries = entriesOf(found).map(shown)
  if (entries.length === 0) return <p class="missing">{say.none}</p>
  return (
    <>
      <ol class="log">
        {entries.map(([at, content], index) => (
          <li key={index}>
            <When at={at} />
            <div>{content}</div>
          </li>
        ))}
      </ol>
      {more && (
        <Button kind="small" onClick={more}>
          {say.more}
        </Button>
      )}
    </>
  )
}
