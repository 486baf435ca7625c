/** How long and how exactly a project's single steps are stored, and what its runs use now. */
import { useSignal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import { change, get } from '../../api/client'
import type { ProjectRetention, RetentionWish } from '../../api/schema'
import { formatSize, formatSpan } from '../../format'
import { retention as say } from '../../text/runs'
import { FormDialog, refusalOf } from '../parts/Dialog'
import './RetentionDialog.css'

const DAY_US = 24 * 3_600 * 1e6
const GIGABYTE = 1e9
/** Significant bits of a stored duration; `null`: all of them. */
const ROUNDINGS = [null, 12, 8, 6] as const

export function RetentionDialog({ project, onClose }: { project: string; onClose(): void }) {
  const current = useSignal<ProjectRetention | null>(null)
  const trouble = useSignal<string | null>(null)
  useEffect(() => {
    get('/api/v1/projects/{project}/retention', { path: { project } })
      .then(answer => (current.value = answer))
      .catch(error => (trouble.value = refusalOf(error)))
  }, [project, current, trouble])
  return (
    <FormDialog
      title={say.title(project)}
      class="retention"
      canSave={current.value !== null}
      trouble={trouble.value}
      onSave={form =>
        change('PUT', `/api/v1/projects/${encodeURIComponent(project)}/retention`, {
          retain_us: limitIn(form, 'retain_us', DAY_US),
          max_bytes: limitIn(form, 'max_bytes', GIGABYTE),
          precision_bits: Number(form.get('precision_bits')) || null,
        } satisfies RetentionWish)
      }
      onClose={onClose}
    >
      {current.value && <Fields current={current.value} />}
    </FormDialog>
  )
}

function Fields({ current }: { current: ProjectRetention }) {
  const { precision_bits: bits, row_bytes, ladder_bytes } = current
  const [rows, overviews] = [row_bytes, ladder_bytes].map(formatSize)
  // A value that a script set is not changed by opening this dialog.
  const roundings = ROUNDINGS.some(each => each === bits) ? ROUNDINGS : [...ROUNDINGS, bits]
  return (
    <>
      <p class="detail">{say.used(rows ?? '', overviews ?? '')}</p>
      <LimitField
        of={current}
        name="retain_us"
        label={say.days}
        unit={[DAY_US, say.daysUnit]}
        initially={30}
      />
      <LimitField
        of={current}
        name="max_bytes"
        label={say.size}
        unit={[GIGABYTE, say.sizeUnit]}
        initially={20}
      />
      <label>
        <span>{say.precision}</span>
        <select class="button" name="precision_bits">
          {roundings.map(each => (
            <option key={each} value={each ?? ''} selected={each === bits}>
              {each === null ? say.exact : say.rounded(each)}
            </option>
          ))}
        </select>
      </label>
      <p class="detail">{say.detail}</p>
    </>
  )
}

const WORDS = { retain_us: (us: number) => formatSpan(us / 1e6), max_bytes: formatSize }

interface LimitProps {
  of: ProjectRetention
  name: 'retain_us' | 'max_bytes'
  label: string
  unit: readonly [size: number, noun: string]
  /** The first value of a limit of the project's own, in the unit. */
  initially: number
}

function LimitField({ of, name, label, unit: [size, noun], initially }: LimitProps) {
  /** Of the project, `null`: the service's; of the service, `null`: no limit. 0: no limit. */
  const [limit, service] = [of[name], of[`default_${name}`]]
  const kind = useSignal(limit === null ? 'service' : limit === 0 ? 'none' : 'own')
  return (
    <label>
      <span>{label}</span>
      <select
        class="button"
        name={name}
        value={kind.value}
        onChange={event => (kind.value = event.currentTarget.value)}
      >
        <option value="service">
          {say.asService(service === null ? say.noLimit : WORDS[name](service))}
        </option>
        <option value="none">{say.noLimit}</option>
        <option value="own">{say.own(noun)}</option>
      </select>
      {kind.value === 'own' && (
        <input
          type="number"
          class="field"
          name={`${name}-own`}
          aria-label={`${label}: ${noun}`}
          required
          min="0.05"
          max="100000"
          step="any"
          defaultValue={limit ? limit / size : initially}
        />
      )}
    </label>
  )
}

function limitIn(form: FormData, name: string, size: number): number | null {
  const kind = form.get(name)
  if (kind === 'service') return null
  return kind === 'none' ? 0 : Math.round(Number(form.get(`${name}-own`)) * size)
}
