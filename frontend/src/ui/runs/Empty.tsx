/** No run yet: the commands that record one, with the address of this service, and the one that shows one. */
import { formatClock, inZone } from '../../format'
import { service } from '../../store/connection'
import { empty } from '../../text/runs'
import { text } from '../../text/shared'
import { Snippet } from '../parts/CopyButton'

/** Where an agent sends to without a setting. */
const DEFAULT_URL = 'http://127.0.0.1:7077'

export function Empty() {
  const info = service.value
  const isElsewhere = info !== null && info.url.replace(/\/$/, '') !== DEFAULT_URL
  return (
    <div class="empty">
      <h1>{info?.project ? empty.titleOf(info.project) : empty.title}</h1>
      <p>{empty.lead}</p>
      {isElsewhere || info?.token_required ? (
        <>
          <p>{info.token_required ? empty.withToken : empty.elsewhere}</p>
          <Snippet code={empty.address(info)} />
        </>
      ) : (
        <Snippet code={empty.command} />
      )}
      <p>{empty.watch}</p>
      <Snippet code={text.snippet} />
      <p>{empty.demo}</p>
      <Snippet code={empty.demoCommand} />
      {info && (
        <p class="detail">{empty.listening(info.url, inZone(formatClock(new Date(info.started_at))))}</p>
      )}
    </div>
  )
}
