/** What compared runs were set up with, a column each: what differs, and on demand the rest. */
import { useSignal } from '@preact/signals'
import type { ComparedSetting, Comparison } from '../../api/names'
import { formatBytes, formatNumber, formatSetting, NOT_MEASURED } from '../../format'
import { compare as say } from '../../text/compare'
import { Diamond } from '../parts/Glyph'
import { Panel } from '../parts/Panel'
import { TableScroll } from '../parts/TableScroll'
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
          <button
            type="button"
            class="button small"
            aria-pressed={showsEqual.value}
            onClick={() => (showsEqual.value = !showsEqual.value)}
          >
            {showsEqual.value ? say.hideEqual : say.showEqual(equal)}
          </button>
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
        <TableScroll label={say.settings}>
          <table class="data compared-settings">
            <thead>
              <tr>
                <th scope="col">{say.setting}</th>
                {runs.map((run, place) => (
                  <th key={run.run.run_id} scope="col">
                    <span class="with-glyph">
                      <RunSwatch place={place} />
                      {run.label}
                    </span>
                  </th>
                ))}
              </tr>
            </thead>
            <tbody>
              {shown.map(one => (
                <Row key={`${one.group} ${one.name}`} setting={one} />
              ))}
            </tbody>
          </table>
        </TableScroll>
      )}
    </Panel>
  )
}

/** What is as in the baseline steps back. */
function Row({ setting }: { setting: ComparedSetting }) {
  const { name, group, unit, values, differs, matters } = setting
  return (
    <tr>
      <th scope="row">
        <span class={`with-glyph ${matters && differs ? 'matters' : ''}`}>
          <code>{name}</code>
          {matters && differs && <Diamond />}
        </span>{' '}
        {group !== name && <small>{group}</small>}
      </th>
      {values.map((value, place) => (
        <td key={place} class={place > 0 && value === values[0] ? 'faint' : ''}>
          <code>{settingText(value, unit)}</code>
        </td>
      ))}
    </tr>
  )
}

function settingText(value: ComparedSetting['values'][number], unit: ComparedSetting['unit']): string {
  if (value === null) return NOT_MEASURED
  if (value === '') return say.isSet
  if (typeof value === 'number' && unit === 'bytes') return formatBytes(value)
  return typeof value === 'number' && unit !== 'setting' ? formatNumber(value) : formatSetting(value)
}
