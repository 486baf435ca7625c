/** How long and how exactly a project's single steps are stored, how long its runs, and what these use now. */
import { useSignal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import { change, get } from '../../api/client'
import type { ProjectRetention, RetentionWish } from '../../api/schema'
import { formatSize, formatSpan } from '../../format'
import { may } from '../../store/may'
import { retention as say } from '../../text/runs'
import { Button } from '../parts/Button'
import { FormDialog, refusalOf } from '../parts/Dialog'
import './RetentionDialog.css'

const DAYS = { size: 24 * 3_600 * 1e6, noun: say.daysUnit, format: (us: number) => formatSpan(us / 1e6) }
const GIGABYTES = { size: 1e9, noun: say.sizeUnit, format: formatSize }

interface Limit {
  label: string
  unit: typeof DAYS
  /** The first value of a limit of the project's own, in the unit. */
  initially: number
  /** In the unit. */
  least: number
  /** What 0 says. */
  none: string
}
const OF_STEPS = { least: 0.05, none: say.noLimit }
const OF_RUNS = { unit: DAYS, least: 1, none: say.never }
const LIMITS = {
  retain_us: { label: say.days, unit: DAYS, initially: 30, ...OF_STEPS },
  max_bytes: { label: say.size, unit: GIGABYTES, initially: 20, ...OF_STEPS },
  archive_after_us: {
    label: say.ages.archive_after_us,
    initially: say.initially.archive_after_us,
    ...OF_RUNS,
  },
  delete_after_us: { label: say.ages.delete_after_us, initially: say.initially.delete_after_us, ...OF_RUNS },
} satisfies Record<string, Limit>
type Name = keyof typeof LIMITS

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
      canSave={current.value !== null && may('admin', project)}
      trouble={trouble.value}
      onSave={form =>
        change('PUT', `/api/v1/projects/${encodeURIComponent(project)}/retention`, {
          retain_us: limitIn(form, 'retain_us'),
          max_bytes: limitIn(form, 'max_bytes'),
          ...agesIn(form),
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
      <LimitField of={current} name="retain_us" />
      <LimitField of={current} name="max_bytes" />
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
      <LimitField of={current} name="archive_after_us" />
      <LimitField of={current} name="delete_after_us" />
      <p class="detail">{say.agesDetail}</p>
      <Preview of={current} />
      {!may('admin', current.project) && <p class="missing">{say.onlyAdmins}</p>}
    </>
  )
}

const SHOWN = 5

/** What would become of whole runs now, by what the form says. */
function Preview({ of }: { of: ProjectRetention }) {
  const { project, default_archive_after_us, default_delete_after_us } = of
  const words = useSignal<string | null>(null)
  async function preview(form: HTMLFormElement | null): Promise<void> {
    if (!form?.reportValidity()) return
    const { archive_after_us: archived, delete_after_us: deleted } = agesIn(new FormData(form))
    try {
      const due = await get('/api/v1/projects/{project}/retention/preview', {
        path: { project },
        query: {
          archive_after_us: archived ?? default_archive_after_us ?? 0,
          delete_after_us: deleted ?? default_delete_after_us ?? 0,
        },
      })
      const names = due.runs.slice(0, SHOWN).map(run => run.name)
      words.value = say.due(due.archived, due.deleted, names)
    } catch (error) {
      words.value = refusalOf(error)
    }
  }
  return (
    <p class="row">
      <Button kind="small" onClick={event => void preview((event.currentTarget as HTMLButtonElement).form)}>
        {say.preview}
      </Button>
      <span class="detail" role="status">
        {words.value}
      </span>
    </p>
  )
}

function agesIn(form: FormData) {
  return {
    archive_after_us: limitIn(form, 'archive_after_us'),
    delete_after_us: limitIn(form, 'delete_after_us'),
  }
}

function LimitField({ of, name }: { of: ProjectRetention; name: Name }) {
  const { label, unit, initially, none, least }: Limit = LIMITS[name]
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
        <option value="service">{say.asService(service === null ? none : unit.format(service))}</option>
        <option value="none">{none}</option>
        <option value="own">{say.own(unit.noun)}</option>
      </select>
      {kind.value === 'own' && (
        <input
          type="number"
          class="field"
          name={`${name}-own`}
          aria-label={`${label}: ${unit.noun}`}
          required
          min={least}
          max="100000"
          step="any"
          defaultValue={limit ? limit / unit.size : initially}
        />
      )}
    </label>
  )
}

function limitIn(form: FormData, name: Name): number | null {
  const kind = form.get(name)
  if (kind === 'service') return null
  return kind === 'none' ? 0 : Math.round(Number(form.get(`${name}-own`)) * LIMITS[name].unit.size)
}
