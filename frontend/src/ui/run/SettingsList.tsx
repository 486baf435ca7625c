/** Names and values, in two columns where there is room; what was another value in the previous run is marked. */
import type { ComponentChildren } from 'preact'
import { settings as say } from '../../text/run'
import './SettingsList.css'

export interface Setting {
  name: string
  value: ComponentChildren
  /** In the previous run, where it was another one. */
  was?: string | null
  isAdvised?: boolean
  title?: string | undefined
}

export function SettingsList({ rows }: { rows: readonly Setting[] }) {
  return (
    <dl class="settings">
      {rows.map(({ name, value, was, isAdvised, title }, index) => (
        <div key={`${name} ${index}`}>
          <dt class="faint">{name}</dt>
          <dd class={isAdvised ? 'advised' : ''} title={title}>
            {typeof value === 'string' ? (
              <span class="clamped" title={value}>
                {value}
              </span>
            ) : (
              value
            )}
            {was != null && <small class="was quiet">{say.was(was)}</small>}
          </dd>
        </div>
      ))}
    </dl>
  )
}
