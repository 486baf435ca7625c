/** An address that names nothing. */
import { missing } from '../text/frame'
import { usePage } from '../ui/parts/page'

export function MissingPage({ runId }: { runId?: string }) {
  usePage(missing.title, {})
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
