/** What compared runs were set up with, a column each: what differs, and on demand the rest. */
import { useSignal } from '@preact/signals'
import type { ComparedRun, ComparedSetting, Comparison } from '../../api/schema'
import { formatBytes, formatNumber, formatSetting, NOT_MEASURED } from '../../format'
import { compare as say } from '../../text/compare'
import { Toggle } from '../parts/Button'
import { DataTable } from '../parts/DataTable'
import { Diamond } from '../parts/Glyph'
import { Panel } from '../parts/Panel'
import { RunSwatch } from './RunSwatch'
import './ComparedSettings.css'

export function ComparedSettings({ runs, settings }: Comparison) {
  const showsEqual = useSignal(false)
  const differing = settings.filter(one => one.differs)
  const shown = showsEqual.value ? settings : differing
  const equal = settings.length - differing.length
  return (
    <Panel
      title={showsEqual.value ? say.settingsAll : say.settings}
      name="settings"
      detail={
        <span class="with-glyph matters">
          <Diamond />
          {say.matters}
        </span>
      }
      controls={
        equal > 0 && (
          <Toggle on={showsEqual}>{showsEqual.value ? say.hideEqual : say.showEqual(equal)}</Toggle>
        )
      }
      figures={{
        file: () => ({
          columns: [say.setting, ...runs.map(run => run.run.run_id)],
          rows: settings.map(one => [
            one.name,
            ...one.values.map(value => (value === null ? null : String(value))),
          ]),
        }),
      }}
    >
      {shown.length === 0 ? (
        <p class="missing">{say.settingsNone}</p>
      ) : (
        <DataTable
          caption={say.settings}
          columns={[say.setting, ...runs.map(nameOf)]}
          class="compared-settings"
          rows={shown.map(cellsOf)}
        />
      )}
    </Panel>
  )
}

function nameOf({ label }: ComparedRun, place: number) {
  return (
    <span class="with-glyph">
      <RunSwatch place={place} />
      {label}
    </span>
  )
}

/** Values equal to the baseline's are drawn fainter. */
function cellsOf({ name, group, unit, values, differs, matters }: ComparedSetting) {
  return [
    <>
      <span class={`with-glyph ${matters && differs ? 'matters' : ''}`}>
        <code>{name}</code>
        {matters && differs && <Diamond />}
      </span>{' '}
      {group !== name && <small>{group}</small>}
    </>,
    ...values.map((value, place) => (
      <code
        key={place}
        title={settingText(value, unit)}
        class={`clamped ${place > 0 && value === values[0] ? 'faint' : ''}`}
      >
        {settingText(value, unit)}
      </code>
    )),
  ]
}

function settingText(value: ComparedSetting['values'][number], unit: ComparedSetting['unit']): string {
  if (value === null) return NOT_MEASURED
  if (value === '') return say.isSet
  if (typeof value === 'number' && unit === 'bytes') return formatBytes(value)
  return typeof value === 'number' && unit !== 'setting' ? formatNumber(value) : formatSetting(value)
}
