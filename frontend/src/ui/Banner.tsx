/** What is wrong, in a thin bar above what still holds. */
import type { ComponentChildren } from 'preact'
import { type ServiceError, serviceNow } from '../api/client'
import type { Run } from '../api/names'
import { formatClockSeconds, formatNumber } from '../format'
import { now } from '../store/clock'
import { lastHeardAt, link, retryAt, retryNow } from '../store/connection'
import { banner, text } from '../text'
import { CopyButton } from './CopyButton'

export function Banner({ title, children }: { title: string; children?: ComponentChildren }) {
  return (
    <div class="banner" role="status">
      <b>{title}</b> {children}
    </div>
  )
}

export function GoneBanner() {
  if (link.value !== 'gone') return null
  const retryInS = Math.max(0, Math.ceil(((retryAt.value ?? now.value) - now.value) / 1_000))
  const asOf = lastHeardAt.value === null ? null : formatClockSeconds(lastHeardAt.value)
  return (
    <div class="page-banner">
      <Banner title={banner.gone}>
        {/* The countdown is for the eye: read out each second it would be noise. */}
        <span aria-live="off">{banner.goneDetail(retryInS, asOf)}</span>{' '}
        <button type="button" class="button small" onClick={retryNow}>
          {banner.tryNow}
        </button>
      </Banner>
    </div>
  )
}

export function NoSignalBanner({ run }: { run: Run }) {
  const ageS = (serviceNow(now.value) - Date.parse(run.last_seen_at)) / 1_000
  return (
    <Banner title={banner.noSignal(run.hostnames.join(', ') || run.name, ageS)}>
      {banner.noSignalDetail(formatClockSeconds(new Date(run.last_seen_at)))}
    </Banner>
  )
}

export function CrashBanner({ run }: { run: Run }) {
  return (
    <Banner title={banner.crashed(formatNumber(run.steps))}>
      {run.exit_reason === null ? banner.crashedSilently : banner.crashedDetail}
      {run.exit_reason !== null && (
        // biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls, so the keyboard must reach it
        <pre class="last-words" tabIndex={0}>
          {run.exit_reason}
        </pre>
      )}
    </Banner>
  )
}

/** A part that the service failed to give; the rest of the page stands. */
export function TroubleBanner({ what, error }: { what: string; error: ServiceError }) {
  const request = error.requestId === null ? '' : ` ${banner.request(error.requestId)}`
  return (
    <Banner title={banner.trouble(what)}>
      {error.message}
      {request}{' '}
      <CopyButton label={text.copyDetails} text={`${error.code}: ${error.message}${request}`} small />
    </Banner>
  )
}

/** A fault of this page itself. */
export function StumbleBanner({ error }: { error: Error }) {
  return (
    <Banner title={banner.ours}>
      {banner.oursDetail}{' '}
      <button type="button" class="button small" onClick={() => location.reload()}>
        {banner.reload}
      </button>{' '}
      <CopyButton label={text.copyDetails} text={`${error.message}\n${error.stack ?? ''}`} small />
    </Banner>
  )
}
