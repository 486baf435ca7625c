/** The samples that took longest to load. */
import type { HotspotsPage, SlowSample } from '../../../api/schema'
import { formatBytes, NOT_MEASURED } from '../../../format'
import { workers } from '../../../text/charts'
import { hotspots, slowSamples as say } from '../../../text/hotspots'
import { useFirst } from '../../parts/Button'
import { DataTable } from '../../parts/DataTable'
import { type FigureColumn, figuresOf } from '../../parts/figures'
import { Panel } from '../../parts/Panel'
import './SlowSamples.css'

const FIRST = 4

/** `loader`: all of them are of that one. */
function columnsOf(
  loader: string | null,
  hasRanks: boolean,
  hasWaits: boolean,
): readonly FigureColumn<SlowSample>[] {
  return [
    { name: 'loader', value: () => loader },
    {
      name: 'index',
      label: 'Index',
      format: ({ index }) => (index === null ? NOT_MEASURED : index.toLocaleString('en')),
    },
    { name: 'load_us', label: 'Loaded in', unit: 'us' },
    {
      name: 'runqueue_us',
      label: hasWaits ? say.runqueue : undefined,
      unit: 'us',
      value: ({ runqueue_us: waited = null }) => waited,
    },
    {
      name: 'worker',
      label: 'By',
      value: ({ worker = null }) => worker,
      format: ({ worker = null }) => workers.name(worker),
    },
    { name: 'rank', label: hasRanks ? 'Rank' : undefined, format: ({ rank }) => String(rank) },
    {
      name: 'file_bytes',
      label: 'Size',
      value: ({ file_bytes: size = null }) => size,
      format: ({ file_bytes: size = null }) => formatBytes(size),
    },
    { name: 'file', label: 'File', format: ({ file }) => file ?? say.noFile },
  ]
}

function waited({ runqueue_us: us = null }: SlowSample): boolean {
  return us !== null && us > 0
}

interface SlowSamplesProps {
  page: HotspotsPage
  /** Of one rank alone its number says nothing. */
  hasRanks: boolean
}

export function SlowSamples({ page: { slow_samples: samples, loader }, hasRanks }: SlowSamplesProps) {
  const [shown, showAll] = useFirst(samples, FIRST, hotspots)
  const { file, tables } = figuresOf(columnsOf(loader, hasRanks, samples.some(waited)), samples, shown)
  return (
    <Panel title={say.title} name="slow-samples" detail={say.detail(loader ?? '')} figures={{ file }}>
      {tables().map(({ columns, rows }) => (
        <DataTable key="all" caption={say.title} columns={columns} rows={rows} class="slow-samples" />
      ))}
      {showAll}
    </Panel>
  )
}
