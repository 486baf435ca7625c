/** An address that names nothing. */
import { useEffect } from 'preact/hooks'
import { missing, text } from '../text'

export function MissingPage({ runId }: { runId?: string }) {
  useEffect(() => {
    document.title = text.product
  }, [])
  return (
    <div class="empty">
      <h1>{runId ? missing.run(runId) : missing.page}</h1>
      {runId && <p>{missing.runDetail}</p>}
      <p>
        <a href="/">{missing.back}</a>
      </p>
    </div>
  )
}
