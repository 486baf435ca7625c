/** Where a step goes, now and with the fix that promises a gain, to one scale. */
import type { Advice, Anatomy } from '../../api/schema'
import { partsOf } from '../../charts/declared/anatomy'
import { formatDuration, formatSetting } from '../../format'
import { gainOf, isOfOneLoop } from '../../gain'
import { anatomy as say } from '../../text/shared'
import './AnatomyBars.css'

interface AnatomyBarsProps {
  now: Anatomy
  advice: Advice | null
  /** Whose steps these are, in a run with several loaders. */
  loader: string | null
}

export function AnatomyBars({ now, advice, loader }: AnatomyBarsProps) {
  const predicted = advice?.is_promised ? advice.anatomy : null
  const longestUs = Math.max(now.step_us, predicted?.step_us ?? 0)
  return (
    <div class="anatomy">
      <Bar label={say.now(loader)} anatomy={now} longestUs={longestUs} gain={null} />
      {predicted && advice && (
        <Bar
          label={say.withChange(settingOf(advice))}
          anatomy={predicted}
          longestUs={longestUs}
          gain={isOfOneLoop(advice) ? null : gainOf(advice)}
        />
      )}
      <Key anatomy={now} longestUs={longestUs} />
      <Within anatomy={now} />
    </div>
  )
}

function settingOf({ change, to }: Advice): string {
  return to === null ? change : `${change}=${formatSetting(to)}`
}

/** What the sampler takes of the wait, from which it is told; the terminal has the same. */
const LEAST_OF_WAIT = 0.05

/** Of the longest bar, below which a part has no room for its words. */
const LEAST_LABELLED = 0.175

/** What is too narrow to be labelled in the bar. */
function Key({ anatomy, longestUs }: { anatomy: Anatomy; longestUs: number }) {
  const narrow = partsOf(anatomy).filter(({ us }) => us < LEAST_LABELLED * longestUs)
  if (narrow.length === 0) return null
  return (
    <p class="anatomy-note anatomy-key detail">
      {narrow.map(({ name, look, us, label }) => (
        <span key={name}>
          <span class="anatomy-bar" aria-hidden="true">
            <i class={look} />
          </span>
          {say.part(formatDuration(us), label)}
        </span>
      ))}
    </p>
  )
}

/** What the wait is known to consist of: no parts of the bar, which shows the host clock. */
function Within({ anatomy }: { anatomy: Anatomy }) {
  const { data_wait_us: waitUs, sampler_us: samplerUs } = anatomy
  const parts = [
    [anatomy.gpu_idle_us, say.idle],
    [(samplerUs ?? 0) >= LEAST_OF_WAIT * waitUs ? samplerUs : null, say.sampler],
  ] as const
  const known = parts.flatMap(([us, said]) =>
    us === null || us === undefined ? [] : [said(formatDuration(us))],
  )
  return known.length > 0 ? <p class="anatomy-note detail">{say.within(known)}</p> : null
}

interface BarProps {
  label: string
  anatomy: Anatomy
  longestUs: number
  gain: string | null
}

function Bar({ label, anatomy, longestUs, gain }: BarProps) {
  return (
    <>
      {/* A setting may break behind its name. */}
      <div class="anatomy-label quiet">{label.replace('=', '=\u200b')}</div>
      <StepBar label={label} anatomy={anatomy} longestUs={longestUs} />
      <div class="anatomy-total">
        {formatDuration(anatomy.step_us)} {gain !== null && <small>{gain}</small>}
      </div>
    </>
  )
}

/** A step in its parts; one of `longestUs` takes the whole width. */
export function StepBar({ label, anatomy, longestUs }: Omit<BarProps, 'gain'>) {
  const parts = partsOf(anatomy).map(part => {
    const lasts = formatDuration(part.us)
    return { ...part, lasts, words: `${lasts} ${part.label}` }
  })
  const spoken = parts.map(({ words }) => words).join(', ')
  return (
    <div
      class="anatomy-bar"
      role="img"
      aria-label={`${label}: ${formatDuration(anatomy.step_us)}: ${spoken}`}
    >
      {parts.map(({ name, look, us, lasts, words, label, short = label }) => (
        <i key={name} class={look} style={{ width: `${(100 * us) / longestUs}%` }} title={words}>
          <span>
            {lasts}
            <span class="anatomy-name"> {short}</span>
          </span>
        </i>
      ))}
    </div>
  )
}
