/** The samples that took longest to load. */
import { useSignal } from '@preact/signals'
import type { HotspotsPage, SlowSample } from '../../../api/schema'
import { NOT_MEASURED } from '../../../format'
import { hotspots, slowSamples as say } from '../../../text/hotspots'
import { Button } from '../../parts/Button'
import { DataTable } from '../../parts/DataTable'
import { type FigureColumn, figuresOf } from '../../parts/figures'
import { Panel } from '../../parts/Panel'

const FIRST = 4

/** Of one rank alone its number says nothing. */
const RANK: FigureColumn<SlowSample> = { name: 'rank', label: 'Rank', format: ({ rank }) => String(rank) }

const COLUMNS: readonly FigureColumn<SlowSample>[] = [
  {
    name: 'index',
    label: 'Index',
    format: ({ index }) => (index === null ? NOT_MEASURED : index.toLocaleString('en')),
  },
  { name: 'load_us', label: 'Loaded in', unit: 'us' },
  { name: 'file', label: 'File', format: ({ file }) => file ?? say.noFile },
]

interface SlowSamplesProps {
  page: HotspotsPage
  hasRanks: boolean
}

export function SlowSamples({ page: { slow_samples: samples }, hasRanks }: SlowSamplesProps) {
  const showsAll = useSignal(false)
  const shown = showsAll.value ? samples : samples.slice(0, FIRST)
  const figures = figuresOf(hasRanks ? [...COLUMNS, RANK] : COLUMNS, samples, shown)
  return (
    <Panel title={say.title} name="slow-samples" detail={say.detail} figures={{ file: figures.file }}>
      {figures.tables().map(({ columns, rows }) => (
        <DataTable key="slowest" caption={say.title} columns={columns} rows={rows} class="slow-samples" />
      ))}
      {samples.length > FIRST && (
        <Button kind="small" onClick={() => (showsAll.value = !showsAll.value)}>
          {showsAll.value ? hotspots.fewer : hotspots.all(samples.length)}
        </Button>
      )}
    </Panel>
  )
}
