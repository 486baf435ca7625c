/** The judged loader as it was found in the process; what the advice would change is marked. */
import type { Diagnosis, LoaderInfo, Run, StoragePlace } from '../../api/schema'
import { formatBytes, formatNumber, formatSetting, NOT_MEASURED, plural } from '../../format'
import type { Still } from '../../store/run'
import { settings as say } from '../../text/run'
import { Diamond } from '../parts/Glyph'
import { Panel } from '../parts/Panel'
import { type Setting, SettingsList } from './SettingsList'

interface LoaderSettingsProps {
  run: Still
  /** The run of the same job before this one. */
  previous: Run | null
  diagnosis: Diagnosis | null
  chosen: string | null
}

export function LoaderSettings({ run, previous, diagnosis, chosen }: LoaderSettingsProps) {
  const wanted = chosen ?? diagnosis?.loader
  const loader = run.loaders.find(one => one.loader === wanted) ?? run.loaders[0]
  if (!loader) return null
  const advised = diagnosis?.loader === loader.loader ? diagnosis.advice.map(one => one.change) : []
  const before = previous?.loaders.find(one => one.loader === loader.loader)
  const known = [...setTo(loader), ...described(loader)]
  const earlier = new Map(before && [...setTo(before), ...described(before)])
  const rows = known.map(([name, value]): Setting => {
    const isAdvised = advised.some(change => change === name)
    const was = before && earlier.get(name) !== value ? (earlier.get(name) ?? NOT_MEASURED) : null
    return { name, value: isAdvised ? <Advised value={value} /> : value, was, isAdvised }
  })
  const places = placesOf(run, loader).map((place): Setting => {
    const value = (
      <>
        {place.mount}
        <small>{placeDetail(place, run.hosts.length > 1)}</small>
      </>
    )
    return { name: say.storage, value, title: place.example ?? undefined }
  })
  return (
    <Panel
      title={say.title}
      name="settings"
      isFolded
      detail={`${loader.loader}, ${say.detail}`}
      figures={{ file: () => ({ columns: ['setting', 'value'], rows: known }) }}
    >
      <SettingsList rows={[...rows, ...places]} />
    </Panel>
  )
}

function Advised({ value }: { value: string }) {
  return (
    <>
      {value} <Diamond />
      <span class="visually-hidden">{say.advised}</span>
    </>
  )
}

/** Where most files were seen comes first. */
function placesOf(run: Still, loader: LoaderInfo): readonly StoragePlace[] {
  return run.storage
    .filter(place => place.loader === loader.loader)
    .toSorted((a, b) => b.files_seen - a.files_seen)
}

function placeDetail(place: StoragePlace, hasHosts: boolean): string {
  const parts = [
    say.placeOn(place.file_system, place.device),
    say.kinds[place.kind],
    say.files(place.files_seen),
    hasHosts ? place.hostname : null,
  ]
  return parts.filter(Boolean).join(', ')
}

function setTo({ settings }: LoaderInfo): readonly (readonly [string, string])[] {
  return Object.entries(settings).map(([name, value]) => [name, formatSetting(value)])
}

/** Only what is known: an absent row is better than one that says nothing. */
function described(loader: LoaderInfo): readonly (readonly [string, string])[] {
  const count = loader.dataset_length === null ? null : formatNumber(loader.dataset_length)
  const tensors = loader.batch_tensors === null ? null : plural(loader.batch_tensors, 'tensor')
  const rows: (readonly [string, string | null])[] = [
    [say.dataset, loader.dataset_type && say.items(loader.dataset_type, count)],
    [say.transforms, loader.transforms?.join(', ') ?? null],
    [
      say.batch,
      loader.batch_bytes === null ? tensors : say.batchOf(tensors, formatBytes(loader.batch_bytes)),
    ],
    [say.batches, loader.batches_per_epoch === null ? null : formatNumber(loader.batches_per_epoch)],
    [say.sampler, loader.sampler_type],
    [say.collate, loader.collate_type],
    [say.watchedAt, loader.watched_at],
  ]
  return rows.filter((row): row is readonly [string, string] => Boolean(row[1]))
}
