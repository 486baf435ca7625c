/** Adds a rule: which condition of whose runs is reported to which channel. */
import { useSignal } from '@preact/signals'
import type { AlertRule, Channel } from '../../api/schema'
import { addRule } from '../../store/alerts'
import { service } from '../../store/connection'
import { labels } from '../../store/labels'
import { alerts as say } from '../../text/alerts'
import { text } from '../../text/shared'
import { FormDialog } from '../parts/Dialog'
import { Field, SelectField } from '../parts/fields'
import { ProjectField } from './ProjectField'

type Condition = AlertRule['condition']

const MINUTE_US = 60e6
const HOUR_US = 3_600e6
/** As the service has them by default; of a threshold in percent. */
const DEFAULTS: Record<Condition, { threshold?: number; most?: number; minutes?: number }> = {
  data_bound: { threshold: 20, most: 100, minutes: 10 },
  hours_lost: { threshold: 8, most: 1e6 },
  verdict_changed: { minutes: 5 },
  memory: { threshold: 24, most: 24, minutes: 1 },
  straggler: { minutes: 5 },
  host_offline: { minutes: 1 },
}
const PERCENT = 100
const NUMBER = { type: 'number', required: true, min: 0, step: 'any' } as const

interface RuleProps {
  channels: readonly Channel[]
  onAdded(): void
  onClose(): void
}

export function RuleDialog({ channels, onAdded, onClose }: RuleProps) {
  const condition = useSignal<Condition>('data_bound')
  const words = say.newRule
  const { threshold, most, minutes } = DEFAULTS[condition.value]
  return (
    <FormDialog
      title={words.title}
      save={text.add}
      onSave={async form => {
        await addRule(ruleIn(form, condition.value))
        onAdded()
      }}
      onClose={onClose}
    >
      <SelectField
        label={words.condition}
        options={Object.entries(labels('condition'))}
        value={condition.value}
        onChange={event => (condition.value = event.currentTarget.value as Condition)}
      />
      {threshold !== undefined && (
        <Field
          {...NUMBER}
          key={`threshold ${condition.value}`}
          name="threshold"
          label={words.threshold[condition.value] ?? ''}
          defaultValue={threshold}
          min={0.1}
          max={most}
        />
      )}
      {minutes !== undefined && (
        <Field
          {...NUMBER}
          key={`minutes ${condition.value}`}
          name="minutes"
          label={words.lasts}
          defaultValue={minutes}
          max={7 * 24 * 60}
        />
      )}
      <SelectField
        label={words.channel}
        name="channel_id"
        required
        options={channels.map(channel => [channel.channel_id, channel.name])}
      />
      {service.value?.project === null && <ProjectField label={words.project} />}
      <Field label={words.user} name="user" maxLength={500} placeholder={say.newChannel.any} />
      <Field {...NUMBER} name="cool_down" label={words.coolDown} defaultValue={4} max={7 * 24} />
      <label class="check">
        <span>
          <input type="checkbox" name="recovery" defaultChecked /> {words.recovery}
        </span>
      </label>
    </FormDialog>
  )
}

function ruleIn(form: FormData, condition: Condition) {
  const number = (name: string) => (form.has(name) ? Number(form.get(name)) : null)
  const [threshold, minutes] = [number('threshold'), number('minutes')]
  const unit = condition === 'data_bound' ? PERCENT : 1
  return {
    condition,
    threshold: threshold === null ? null : threshold / unit,
    for_us: minutes === null ? null : Math.round(minutes * MINUTE_US),
    cool_down_us: Math.round((number('cool_down') ?? 0) * HOUR_US),
    tells_recovery: form.has('recovery'),
    channel_id: String(form.get('channel_id')),
    project: String(form.get('project') ?? '') || null,
    user: String(form.get('user') ?? '').trim() || null,
  }
}
