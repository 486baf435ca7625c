/** How long and how exactly a project's single steps are kept, and what its runs take now. */
import { useSignal } from '@preact/signals'
import { useEffect, useRef } from 'preact/hooks'
import { NoAnswer, ServiceError } from '../../api/client'
import type { Retention } from '../../api/names'
import { asSentence, formatNumber } from '../../format'
import {
  gigabytes,
  type Limit,
  readRetention,
  saveRetention,
  serviceDays,
  serviceGigabytes,
  type Wish,
  wishOf,
} from '../../store/keeping'
import { keeping as say } from '../../text'

const ROUNDINGS = [null, 12, 8, 6] as const

export function KeepingDialog({ project, onClose }: { project: string; onClose(): void }) {
  const dialog = useRef<HTMLDialogElement>(null)
  const kept = useSignal<Retention | null>(null)
  const trouble = useSignal<string | null>(null)
  useEffect(() => dialog.current?.showModal(), [])
  useEffect(() => {
    readRetention(project)
      .then(answer => (kept.value = answer))
      .catch(error => (trouble.value = told(error)))
  }, [project, kept, trouble])

  async function save(wish: Wish): Promise<void> {
    try {
      await saveRetention(project, wish)
      dialog.current?.close()
    } catch (error) {
      trouble.value = told(error)
    }
  }
  return (
    <dialog ref={dialog} class="dialog" aria-labelledby="keeping-title" onClose={onClose}>
      <h2 id="keeping-title">{say.title(project)}</h2>
      {kept.value && <KeepingForm kept={kept.value} onSave={save} onCancel={() => dialog.current?.close()} />}
      {trouble.value && (
        <p class="missing" role="alert">
          {asSentence(trouble.value)}
        </p>
      )}
    </dialog>
  )
}

interface FormProps {
  kept: Retention
  onSave(wish: Wish): Promise<void>
  onCancel(): void
}

function KeepingForm({ kept, onSave, onCancel }: FormProps) {
  const wish = useSignal<Wish>(wishOf(kept))
  const set = (changes: Partial<Wish>) => (wish.value = { ...wish.value, ...changes })
  const { days, gigabytes: size, precisionBits } = wish.value
  function onSubmit(event: Event): void {
    event.preventDefault()
    void onSave(wish.value)
  }
  return (
    <form class="keeping" onSubmit={onSubmit}>
      <p class="detail">
        {say.taken(formatNumber(gigabytes(kept.row_bytes)), formatNumber(gigabytes(kept.ladder_bytes)))}
      </p>
      <LimitField
        label={say.days}
        unit={say.daysUnit}
        none={say.daysNone}
        service={say.asService(limitWord(serviceDays(kept), say.daysUnit, say.daysNone))}
        initially={30}
        limit={days}
        onChange={limit => set({ days: limit })}
      />
      <LimitField
        label={say.size}
        unit={say.sizeUnit}
        none={say.sizeNone}
        service={say.asService(limitWord(serviceGigabytes(kept), say.sizeUnit, say.sizeNone))}
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
      <p class="keeping-actions">
        <button type="submit" class="button">
          {say.save}
        </button>
        <button type="button" class="button plain" onClick={onCancel}>
          {say.cancel}
        </button>
      </p>
    </form>
  )
}

interface LimitProps {
  label: string
  unit: string
  none: string
  service: string
  initially: number
  limit: Limit
  onChange(limit: Limit): void
}

function LimitField({ label, unit, none, service, initially, limit, onChange }: LimitProps) {
  function choose(kind: string): void {
    onChange(kind === 'own' ? { kind, amount: initially } : { kind: kind === 'none' ? 'none' : 'service' })
  }
  return (
    <label>
      <span>{label}</span>
      <select class="button" value={limit.kind} onChange={event => choose(event.currentTarget.value)}>
        <option value="service">{service}</option>
        <option value="none">{none}</option>
        <option value="own">{say.own(unit)}</option>
      </select>
      {limit.kind === 'own' && (
        <input
          type="number"
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

/** What a script may have chosen is not lost by looking at it here. */
function roundingsWith(bits: number | null): readonly (number | null)[] {
  return ROUNDINGS.some(each => each === bits) ? ROUNDINGS : [...ROUNDINGS, bits]
}

function limitWord(amount: number | null, unit: string, none: string): string {
  return amount === null ? none : `${formatNumber(amount)} ${unit}`
}

function told(error: unknown): string {
  if (error instanceof ServiceError || error instanceof NoAnswer) return error.message
  throw error
}
