/** The hosts of a run while it ran, on the time axis of its other panels: who else used them. */
import { useSignal } from '@preact/signals'
import { useEffect, useMemo } from 'preact/hooks'
import type { HostsPage } from '../../api/schema'
import { stepColumns } from '../../store/columns'
import { readSpan } from '../../store/hosts'
import { openResource } from '../../store/resource'
import type { RunStore, Still } from '../../store/run'
import { hostPanels as say } from '../../text/charts'
import { TroubleBanner } from '../parts/Banner'
import { Choice } from '../parts/Choice'
import { HostPanels } from '../parts/HostPanels'
import { namesInShort } from '../parts/Several'
import { useStore } from '../parts/stores'
import './RunHosts.css'

export function RunHosts({ store, run }: { store: RunStore; run: Still }) {
  const chosen = useSignal(run.hostnames[0] ?? null)
  const isOpen = useSignal(location.hash === '#host')
  const hostname = chosen.value
  if (hostname === null) return null
  return (
    <details
      class="folded run-hosts"
      open={isOpen.value}
      onToggle={event => (isOpen.value = event.currentTarget.open)}
    >
      <summary class="cut" title={run.hostnames.join(', ')}>
        <h2>{say.historyOf(namesInShort(run.hostnames))}</h2>
      </summary>
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
  const startMs = Date.parse(run.started_at)
  const clock = useMemo(() => ({ originMs: startMs }), [startMs])
  const read = useStore(() => openResource<HostsPage>(stop => readShown(store, startMs, hostname, stop)))
  const page = store.series.value
  // As often as the other panels are read, and for the same stretch.
  useEffect(() => {
    if (page) read.refresh()
  }, [page, read])

  const trouble = read.trouble.value
  if (trouble) return <TroubleBanner what={say.what} error={trouble} />
  const history = read.value?.history
  if (!history) return null
  return (
    <HostPanels
      history={history}
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

/** The stretch of the run that its other panels show. `null`: no step was recorded. */
async function readShown(store: RunStore, startMs: number, hostname: string, stop: AbortSignal) {
  const page = store.series.peek()
  const steps = page && stepColumns(page)
  if (!steps) return null
  const isWhole = store.selection.peek().range.kind === 'whole'
  const fromS = isWhole ? 0 : (steps.atS[0] ?? 0)
  const toS = Math.max(steps.atS.at(-1) ?? 0, fromS + 1)
  return readSpan(hostname, startMs + fromS * 1_000, startMs + toS * 1_000, stop)
}
