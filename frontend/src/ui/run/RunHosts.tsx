/** The hosts of a run while it ran, on the time axis of its other panels: who else wanted the same. */
import { useSignal } from '@preact/signals'
import { useEffect, useMemo } from 'preact/hooks'
import { ServiceError } from '../../api/client'
import type { HostHistory } from '../../api/names'
import { stepColumns } from '../../store/columns'
import { readSpan } from '../../store/hosts'
import type { RunStore, Still } from '../../store/run'
import { hosts as say } from '../../text'
import { TroubleBanner } from '../parts/Banner'
import { Choice } from '../parts/Choice'
import { HostPanels } from '../parts/HostPanels'

const NARROW = '(max-width: 640px)'

export function RunHosts({ store, run }: { store: RunStore; run: Still }) {
  const chosen = useSignal(run.hostnames[0] ?? null)
  const isOpen = useSignal(!matchMedia(NARROW).matches)
  const hostname = chosen.value
  if (hostname === null) return null
  return (
    <details
      class="run-hosts"
      open={isOpen.value}
      onToggle={event => (isOpen.value = event.currentTarget.open)}
    >
      <summary>{say.historyOf(run.hostnames.join(', '))}</summary>
      {isOpen.value && (
        <OneHost
          key={hostname}
          store={store}
          run={run}
          hostname={hostname}
          choose={next => (chosen.value = next)}
        />
      )}
    </details>
  )
}

interface OneHostProps {
  store: RunStore
  run: Still
  hostname: string
  choose(hostname: string | null): void
}

function OneHost({ store, run, hostname, choose }: OneHostProps) {
  const history = useSignal<HostHistory | null>(null)
  const trouble = useSignal<ServiceError | null>(null)
  const startMs = Date.parse(run.started_at)
  const clock = useMemo(() => ({ originMs: startMs }), [startMs])
  const page = store.series.value
  // As often as the other panels are read, and for the same stretch.
  useEffect(() => {
    const steps = page && stepColumns(page)
    if (!steps) return
    const isWhole = store.selection.peek().range.kind === 'whole'
    const fromS = isWhole ? 0 : (steps.atS[0] ?? 0)
    const toS = Math.max(steps.atS.at(-1) ?? 0, fromS + 1)
    const control = new AbortController()
    readSpan(hostname, startMs + fromS * 1_000, startMs + toS * 1_000, control.signal)
      .then(found => {
        if (found?.history) history.value = found.history
        trouble.value = null
      })
      .catch((error: unknown) => {
        if (!(error instanceof ServiceError)) throw error
        trouble.value = error
      })
    return () => control.abort()
  }, [page, hostname, startMs, store, history, trouble])

  if (trouble.value) return <TroubleBanner what={say.what} error={trouble.value} />
  if (!history.value) return null
  return (
    <HostPanels
      history={history.value}
      clock={clock}
      title={hostname}
      onZoom={store.zoom}
      controls={
        run.hostnames.length > 1 && (
          <Choice
            label={say.chooseHost}
            value={hostname}
            options={run.hostnames.map(name => [name, name] as const)}
            onChoose={choose}
          />
        )
      }
    />
  )
}
