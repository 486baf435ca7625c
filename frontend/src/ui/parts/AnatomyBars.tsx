/** Where a step goes, now and with the fix that promises a gain, to one scale. */
import { useSignal } from '@preact/signals'
import type { RefObject } from 'preact'
import { useLayoutEffect, useRef } from 'preact/hooks'
import type { Advice, Anatomy } from '../../api/schema'
import { type AnatomyPart, partsOf } from '../../charts/declared/anatomy'
import { formatDuration, formatSetting } from '../../format'
import { gainOf, isOfOneLoop } from '../../gain'
import { anatomy as say } from '../../text/shared'
import './AnatomyBars.css'
import { followWidth } from './width'

interface AnatomyBarsProps {
  now: Anatomy
  advice: Advice | null
  /** Whose steps these are, in a run with several loaders. */
  loader: string | null
}

export function AnatomyBars({ now, advice, loader }: AnatomyBarsProps) {
  const predicted = advice?.is_promised ? advice.anatomy : null
  const longestUs = Math.max(now.step_us, predicted?.step_us ?? 0)
  const whole = useRef<HTMLDivElement>(null)
  const width = useBarWidth(whole)
  const narrow = partsOf(now).filter(({ us, look }) => (us / longestUs) * width < LEAST_LABELLED_PX[look])
  return (
    <div class="anatomy" ref={whole}>
      <Bar
        label={say.now(loader)}
        anatomy={now}
        longestUs={longestUs}
        gain={null}
        keyed={new Set(narrow.map(({ name }) => name))}
      />
      {predicted && advice && (
        <Bar
          label={say.withChange(settingOf(advice))}
          anatomy={predicted}
          longestUs={longestUs}
          gain={isOfOneLoop(advice) ? null : gainOf(advice)}
        />
      )}
      <Key parts={narrow} />
      <Within anatomy={now} />
    </div>
  )
}

function settingOf({ change, to }: Advice): string {
  return to === null ? change : `${change}=${formatSetting(to)}`
}

/** What the sampler takes of the wait, from which it is shown; the terminal has the same. */
const LEAST_OF_WAIT = 0.05

/** Of parts that are narrower a bar has no room for figure and name. As in the style sheet. */
const LEAST_LABELLED_PX: Record<AnatomyPart['look'], number> = {
  wait: 124,
  others: 156,
  copy: 124,
  compute: 124,
}
/** Of a bar on a desktop: until the first layout. */
const GUESSED_PX = 700

/** In CSS pixels, of the longest bar in `within`. */
function useBarWidth(within: RefObject<HTMLElement | null>): number {
  const width = useSignal(GUESSED_PX)
  useLayoutEffect(() => {
    const bar = within.current?.querySelector('.anatomy-bar')
    return bar
      ? followWidth(bar, px => {
          width.value = px || GUESSED_PX
        })
      : undefined
  }, [within, width])
  return width.value
}

/** What is too narrow to be labelled in the bar. */
function Key({ parts }: { parts: ReturnType<typeof partsOf> }) {
  if (parts.length === 0) return null
  return (
    <p class="anatomy-note anatomy-key detail">
      {parts.map(({ name, look, us, label }) => (
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
  /** Parts that have their words below the bar, and none in it. */
  keyed?: ReadonlySet<string> | undefined
}

function Bar({ label, anatomy, longestUs, gain, keyed }: BarProps) {
  return (
    <>
      {/* A setting may break behind its name. */}
      <div class="anatomy-label quiet">{label.replace('=', '=\u200b')}</div>
      <StepBar label={label} anatomy={anatomy} longestUs={longestUs} keyed={keyed} />
      <div class="anatomy-total">
        {formatDuration(anatomy.step_us)} {gain !== null && <small>{gain}</small>}
      </div>
    </>
  )
}

/** A step in its parts; one of `longestUs` takes the whole width. */
export function StepBar({ label, anatomy, longestUs, keyed }: Omit<BarProps, 'gain'>) {
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
          {!keyed?.has(name) && (
            <span>
              {lasts}
              <span class="anatomy-name"> {short}</span>
            </span>
          )}
        </i>
      ))}
    </div>
  )
}
