/** The judged loader as it was found in the process; what the advice would change is marked. */

import type { Diagnosis, LoaderInfo, Run, StoragePlace } from '../../api/names'
import { formatBytes, formatNumber, formatSetting, NOT_MEASURED, plural } from '../../format'
import type { Still } from '../../store/run'
import { settings as say } from '../../text'
import { Diamond } from '../parts/Glyph'
import { Panel } from '../parts/Panel'

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
  const advised = new Set<string>(
    diagnosis?.loader === loader.loader ? diagnosis.advice.map(one => one.change) : [],
  )
  const before = previous?.loaders.find(one => one.loader === loader.loader)
  const described = rowsOf(loader)
  const earlier = new Map(before ? rowsOf(before) : [])
  return (
    <Panel
      title={say.title}
      name="settings"
      detail={`${loader.loader}, ${say.detail}`}
      figures={{
        file: () => ({
          columns: ['setting', 'value'],
          rows: [...Object.entries(loader.settings), ...described].map(([key, value]) => [
            key,
            formatSetting(value),
          ]),
        }),
      }}
    >
      <dl class="settings">
        {Object.entries(loader.settings).map(([key, value]) => (
          <div key={key}>
            <dt>{key}</dt>
            <dd class={advised.has(key) ? 'advised' : ''}>
              {formatSetting(value)}
              {advised.has(key) && (
                <>
                  {' '}
                  <Diamond />
                  <span class="visually-hidden">{say.advised}</span>
                </>
              )}
              {before && before.settings[key] !== value && (
                <Was value={formatSetting(before.settings[key])} />
              )}
            </dd>
          </div>
        ))}
        {described.map(([key, value]) => (
          <div key={key}>
            <dt>{key}</dt>
            <dd>
              {value}
              {before && earlier.get(key) !== value && <Was value={earlier.get(key) ?? NOT_MEASURED} />}
            </dd>
          </div>
        ))}
        {placesOf(run, loader).map(place => (
          <div key={`${place.hostname} ${place.mount}`}>
            <dt>{say.storage}</dt>
            <dd title={place.example ?? undefined}>
              {place.mount}
              <small>{placeDetail(place, run.hosts.length > 1)}</small>
            </dd>
          </div>
        ))}
      </dl>
    </Panel>
  )
}

/** What differs from the run of the job before this one. */
export function Was({ value }: { value: string }) {
  return <small class="was">{say.was(value)}</small>
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

/** Only what is known: an absent row is better than one that says nothing. */
function rowsOf(loader: LoaderInfo): readonly (readonly [string, string])[] {
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
