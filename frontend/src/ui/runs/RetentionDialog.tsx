/** How long and how exactly a project's single steps are stored, and what its runs use now. */
import { useSignal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import type { Retention } from '../../api/names'
import { formatNumber } from '../../format'
import {
  gigabytes,
  type Limit,
  readRetention,
  saveRetention,
  serviceDays,
  serviceGigabytes,
  type Wish,
  wishOf,
} from '../../store/retention'
import { retention as say } from '../../text/runs'
import { text } from '../../text/shared'
import { Dialog, Refusal, refusalOf } from '../parts/Dialog'
import './RetentionDialog.css'

/** Significant bits of a stored duration; `null`: all of them. */
const ROUNDINGS = [null, 12, 8, 6] as const

export function RetentionDialog({ project, onClose }: { project: string; onClose(): void }) {
  const current = useSignal<Retention | null>(null)
  const refusal = useSignal<string | null>(null)
  useEffect(() => {
    readRetention(project)
      .then(answer => (current.value = answer))
      .catch(error => (refusal.value = refusalOf(error)))
  }, [project, current, refusal])

  async function save(wish: Wish, close: () => void): Promise<void> {
    try {
      await saveRetention(project, wish)
      close()
    } catch (error) {
      refusal.value = refusalOf(error)
    }
  }
  return (
    <Dialog title={say.title(project)} class="retention" onClose={onClose}>
      {close => (
        <>
          {current.value && (
            <Form current={current.value} onSave={wish => save(wish, close)} onCancel={close} />
          )}
          <Refusal why={refusal.value} />
        </>
      )}
    </Dialog>
  )
}

interface FormProps {
  current: Retention
  onSave(wish: Wish): Promise<void>
  onCancel(): void
}

function Form({ current, onSave, onCancel }: FormProps) {
  const wish = useSignal(wishOf(current))
  const set = (changes: Partial<Wish>) => (wish.value = { ...wish.value, ...changes })
  const { days, gigabytes: size, precisionBits } = wish.value
  function onSubmit(event: Event): void {
    event.preventDefault()
    void onSave(wish.value)
  }
  return (
    <form onSubmit={onSubmit}>
      <p class="detail">
        {say.used(formatNumber(gigabytes(current.row_bytes)), formatNumber(gigabytes(current.ladder_bytes)))}
      </p>
      <LimitField
        label={say.days}
        unit={say.daysUnit}
        service={serviceDays(current)}
        initially={30}
        limit={days}
        onChange={limit => set({ days: limit })}
      />
      <LimitField
        label={say.size}
        unit={say.sizeUnit}
        service={serviceGigabytes(current)}
        initially={20}
        limit={size}
        onChange={limit => set({ gigabytes: limit })}
      />
      <label>
        <span>{say.precision}</span>
        <select
          class="button"
          value={precisionBits ?? ''}
          onChange={event => set({ precisionBits: Number(event.currentTarget.value) || null })}
        >
          {roundingsWith(precisionBits).map(bits => (
            <option key={bits ?? 'exact'} value={bits ?? ''}>
              {bits === null ? say.exact : say.rounded(bits)}
            </option>
          ))}
        </select>
      </label>
      <p class="detail">{say.detail}</p>
      <p class="dialog-actions">
        <button type="submit" class="button primary">
          {text.save}
        </button>
        <button type="button" class="button plain" onClick={onCancel}>
          {text.cancel}
        </button>
      </p>
    </form>
  )
}

interface LimitProps {
  label: string
  unit: string
  /** What the service does for all; `null`: no limit. */
  service: number | null
  initially: number
  limit: Limit
  onChange(limit: Limit): void
}

function LimitField({ label, unit, service, initially, limit, onChange }: LimitProps) {
  function choose(kind: string): void {
    onChange(kind === 'own' ? { kind, amount: initially } : { kind: kind === 'none' ? 'none' : 'service' })
  }
  return (
    <label>
      <span>{label}</span>
      <select class="button" value={limit.kind} onChange={event => choose(event.currentTarget.value)}>
        <option value="service">
          {say.asService(service === null ? say.noLimit : `${formatNumber(service)} ${unit}`)}
        </option>
        <option value="none">{say.noLimit}</option>
        <option value="own">{say.own(unit)}</option>
      </select>
      {limit.kind === 'own' && (
        <input
          type="number"
          class="field"
          aria-label={`${label}: ${unit}`}
          required
          min="0.05"
          max="100000"
          step="any"
          value={limit.amount}
          onInput={event => onChange({ kind: 'own', amount: event.currentTarget.valueAsNumber })}
        />
      )}
    </label>
  )
}

/** What a script may have chosen is not changed by looking at it here. */
function roundingsWith(bits: number | null): readonly (number | null)[] {
  return ROUNDINGS.some(each => each === bits) ? ROUNDINGS : [...ROUNDINGS, bits]
}
