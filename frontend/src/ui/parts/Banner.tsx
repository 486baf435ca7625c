/** What is wrong, in a thin bar above the page. */
import { effect } from '@preact/signals'
import type { ComponentChildren } from 'preact'
import { useEffect } from 'preact/hooks'
import { type ServiceError, serviceNow } from '../../api/client'
import type { DiedWorker, Run, WorkersPage } from '../../api/schema'
import {
  asSentence,
  capital,
  formatAge,
  formatBytes,
  formatClockSeconds,
  formatDay,
  formatNumber,
  inZone,
} from '../../format'
import { now } from '../../store/clock'
import {
  isConnected,
  isIntercepted,
  lastReceivedAt,
  link,
  retryAt,
  retryNow,
  suspect,
} from '../../store/connection'
import { banner, text } from '../../text/shared'
import { isEndUnknown } from '../../verdict'
import { Button } from './Button'
import { CopyButton } from './CopyButton'
import { namesInShort } from './Several'
import { silentS } from './When'
import './Banner.css'

interface BannerProps {
  title: string
  /** What ended a run, or will. */
  isGrave?: boolean
  children?: ComponentChildren
}

export function Banner({ title, isGrave = false, children }: BannerProps) {
  return (
    <div class={`banner framed ${isGrave ? 'grave' : ''}`} role="status">
      <b class="strong">{title}</b> {children}
    </div>
  )
}

export function GoneBanner() {
  if (link.value !== 'gone') return null
  const retryInS = Math.max(0, Math.ceil(((retryAt.value ?? now.value) - now.value) / 1_000))
  const asOf = lastReceivedAt.value === null ? null : formatClockSeconds(lastReceivedAt.value)
  return (
    <div class="page-banner">
      <Banner title={isIntercepted.value ? banner.intercepted : banner.gone}>
        {isIntercepted.value && (
          <>
            {banner.interceptedDetail} <Reload />{' '}
          </>
        )}
        {/* The countdown is hidden from screen readers: read out each second it would disturb. */}
        <span aria-live="off">{banner.goneDetail(retryInS, asOf)}</span>{' '}
        <Button kind="small" onClick={retryNow}>
          {banner.tryNow}
        </Button>
      </Banner>
    </div>
  )
}

const SILENT = { title: banner.noSignal, detail: banner.noSignalDetail, at: formatClockSeconds }
const ENDED_SOMEHOW = {
  title: banner.endUnknown,
  detail: banner.endUnknownDetail,
  at: (at: Date) => inZone(formatDay(at, new Date(serviceNow()))),
}

export function NoSignalBanner({ run }: { run: Run }) {
  const ageS = silentS(run, now.value)
  const said = isEndUnknown(run, ageS) ? ENDED_SOMEHOW : SILENT
  const at = new Date(run.last_seen_at)
  return (
    <Banner title={said.title(namesInShort(run.hostnames) || run.name, ageS)}>
      {said.detail(said.at(at))}
    </Banner>
  )
}

export function CrashBanner({ run }: { run: Run }) {
  return (
    <Banner title={banner.crashed(formatNumber(run.steps))}>
      {run.exit_reason === null ? banner.crashedSilently : <ErrorText text={run.exit_reason} />}
    </Banner>
  )
}

/** What was wrong is said in the last line; what led to it is there for who asks. */
function ErrorText({ text: whole }: { text: string }) {
  const last = errorLine(whole)
  return (
    <>
      {banner.crashedDetail}
      <p class="error-line clamped">
        <code>{last}</code>
      </p>
      {last !== whole.trim() && (
        <details class="error-whole">
          <summary class="detail">{banner.wholeError}</summary>
          {/* biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls, so the keyboard must reach it */}
          <pre class="error-text" tabIndex={0}>
            {whole}
          </pre>
        </details>
      )}
      <CopyButton label={banner.copyError} text={whole} small />
    </>
  )
}

/** Python's own: the name of an error and what it says. A message may have further lines, which say less. */
const ERROR = /^[\w.]+(Error|Exception|Exit|Interrupt|Killed|Timeout)\b/

export function errorLine(whole: string): string {
  const lines = whole.split('\n').filter(line => line.trim())
  return (lines.findLast(line => ERROR.test(line)) ?? lines.at(-1) ?? '').trim()
}

const FRAME = /File "([^"]+)", line (\d+), in (\S+)/g
/** Of Python or of a package: what calls it is where the program can be changed. */
const FOREIGN = /[\\/](site|dist)-packages[\\/]|[\\/]lib[\\/]python\d|^</

/** The innermost frame of the program itself, else of all. `null`: no traceback was recorded. */
export function errorPlace(whole: string): { file: string; line: string; scope: string } | null {
  const frames = [...whole.matchAll(FRAME)].map(([, path = '', line = '', scope = '']) => ({
    path,
    line,
    scope,
  }))
  const frame = frames.findLast(({ path }) => !FOREIGN.test(path)) ?? frames.at(-1)
  return frame ? { ...frame, file: frame.path.replace(/^.*[\\/]/, '') } : null
}

/** Workers that were killed: what they left undone explains how the run ended better than any verdict. */
export function DiedBanner({ run, page }: { run: Pick<Run, 'died_workers'>; page: WorkersPage | null }) {
  const last = run.died_workers.at(-1)
  if (!last) return null
  const places = Map.groupBy(run.died_workers, ({ loader, rank }) => banner.diedPlace(loader, rank))
  const detail = banner.diedDetail(deathFacts(last, memoryOf(last, page)))
  const lastPlace = banner.diedPlace(last.loader, last.rank)
  return (
    <Banner title={banner.died([...places].map(workersAt))} isGrave>
      {run.died_workers.length > 1 ? `${banner.diedLast(last.worker, lastPlace)} ${detail}` : capital(detail)}
    </Banner>
  )
}

/** Each worker once: one that was started again may die again. */
function workersAt([place, deaths]: [string, readonly DiedWorker[]]) {
  return { place, workers: [...new Set(deaths.map(death => death.worker))] }
}

function deathFacts(
  { pid, end_us: endUs, epoch_index: epoch }: DiedWorker,
  memory: number | null,
): readonly string[] {
  return [
    pid === null ? '' : banner.diedProcess(pid),
    endUs === null ? '' : banner.diedAfter(formatAge(endUs / 1e6)),
    epoch === null ? '' : banner.diedEpoch(epoch),
    memory === null ? '' : banner.diedMemory(formatBytes(memory)),
  ].filter(Boolean)
}

/** The page of workers is of one rank and loader; a later process with its number is not the one that died. */
function memoryOf({ rank, loader, worker, start_us }: DiedWorker, page: WorkersPage | null): number | null {
  const same = page?.rank === rank && page.loader === loader
  const seen = same ? page.workers.find(one => one.worker === worker) : undefined
  return seen?.lives.at(-1)?.start_us === start_us ? (seen?.rss_bytes ?? null) : null
}

/** One part could not be read; the rest of the page stays. */
export function TroubleBanner({ what, error }: { what: string; error: ServiceError }) {
  const request = error.requestId === null ? '' : ` ${banner.request(error.requestId)}`
  return (
    <Banner title={banner.trouble(what)}>
      {asSentence(error.message)}
      {request}{' '}
      <CopyButton label={text.copyDetails} text={`${error.code}: ${error.message}${request}`} small />
    </Banner>
  )
}

/** From one loading of the page to the next that it begins by itself: a part that never comes must not keep it flickering. */
const RELOAD_MS = 15_000

/** The code of a part could not be loaded. What failed is not asked for again, so the whole page is, once the service answers. */
export function NotLoadedBanner() {
  useEffect(() => {
    suspect()
    return effect(() => {
      if (!isConnected.value) return
      const timer = setTimeout(reload, Math.max(0, RELOAD_MS - performance.now()))
      return () => clearTimeout(timer)
    })
  }, [])
  return (
    <Banner title={banner.notLoaded}>
      {banner.notLoadedDetail} <Reload />
    </Banner>
  )
}

/** What is being typed into a dialog is not thrown away. */
function reload(): void {
  if (!document.querySelector('dialog[open]')) location.reload()
}

function Reload() {
  return (
    <Button kind="small" onClick={() => location.reload()}>
      {banner.reload}
    </Button>
  )
}

/** A fault of this page itself, or of a part of it, which is drawn again with `onRetry`. */
export function FaultBanner({ error, onRetry }: { error: Error; onRetry?: () => void }) {
  return (
    <Banner title={onRetry ? banner.ourPart : banner.ours}>
      {onRetry ? (
        <>
          {banner.ourPartDetail}{' '}
          <Button kind="small" onClick={onRetry}>
            {banner.tryAgain}
          </Button>
        </>
      ) : (
        <>
          {banner.oursDetail} <Reload />
        </>
      )}{' '}
      <CopyButton label={text.copyDetails} text={`${error.message}\n${error.stack ?? ''}`} small />
    </Banner>
  )
}
