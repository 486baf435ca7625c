/** An address that names nothing. */
import { DELETED_HREF } from '../router'
import { missing } from '../text/frame'
import { deleting } from '../text/shared'
import { usePage } from '../ui/parts/page'

export function MissingPage({ runId }: { runId?: string }) {
  usePage(missing.title, {})
  return (
    <div class="empty">
      <h1>{runId ? missing.run(runId) : missing.page}</h1>
      {runId && <p>{missing.runDetail}</p>}
      <p>
        <a href="/">{missing.back}</a>
        {runId && (
          <>
            {' · '}
            <a href={DELETED_HREF}>{deleting.list}</a>
          </>
        )}
      </p>
    </div>
  )
}
