/** The bar on top: where one is, whether what one sees is live, search, theme, keys. */
import { useComputed } from '@preact/signals'
import { route } from '../../router'
import { now } from '../../store/clock'
import { askForOwner, lastReceivedAt, leave, link, service } from '../../store/connection'
import { isFiltered, listFilter } from '../../store/filter'
import { highest } from '../../store/may'
import type { RunsStore } from '../../store/runs'
import { frame, link as linkWords, scopes as say, signInPage } from '../../text/frame'
import { text } from '../../text/shared'
import { chosenTheme, nextTheme } from '../../theme'
import { Button } from '../parts/Button'
import { searchRuns } from '../parts/page'
import { useRuns } from '../parts/stores'
import './TopBar.css'

const PAGES = { runs: '/', compare: '/compare', hosts: '/hosts', team: '/team', alerts: '/alerts' } as const

export function TopBar({ onKeys }: { onKeys(): void }) {
  const onRuns = route.value.page === 'runs'
  return (
    <header class="top row screen-only">
      <a class="brand row" href="/" aria-label={text.product}>
        <Mark />
        <span>{text.product}</span>
      </a>
      <nav aria-label={frame.navigation}>
        {Object.entries(PAGES).map(([page, href]) => (
          <a key={page} href={href} aria-current={route.value.page === page ? 'page' : undefined}>
            {text[page as keyof typeof PAGES]}
          </a>
        ))}
      </nav>
      <div class="top-end row faint">
        <LinkState />
        <span class="wide-only">
          <WhoAsks />
        </span>
        {!onRuns && (
          <Button kind="plain wide-only search-runs" onClick={searchRuns}>
            {frame.search} <kbd>/</kbd>
          </Button>
        )}
        <ThemeButton />
        <Button kind="plain" aria-label={frame.shortcuts} title={`${frame.shortcuts} (?)`} onClick={onKeys}>
          ?
        </Button>
      </div>
    </header>
  )
}

function LinkState() {
  const runs = useRuns()
  // Rendered when the words change, not with every event.
  const words = useComputed(() => (link.value === 'live' ? liveWords(runs) : linkWords[link.value]))
  return (
    <span class={`link-state with-glyph wide-only ${link.value}`} title={words}>
      <span>{words}</span>
    </span>
  )
}

/**
 * The user that the proxy names, who signs out there; or a sign-out button for a session opened with a token; each with
 * what they may do; or, where anybody may read, a sign-in button for who may change, which a run's page has in the place of what changes it.
 */
export function WhoAsks() {
  const info = service.value
  if (!info?.signed_in) return null
  if (!info.token_required && highest(info) === 'view')
    return route.value.page === 'run' ? null : (
      <Button kind="plain" title={signInPage.leadOfOwner} onClick={() => askForOwner(true)}>
        {frame.signIn}
      </Button>
    )
  if (info.user !== null)
    return (
      <span class="link-state with-glyph" title={say.held(info)}>
        {say.ofUser(info.user, highest(info))}
      </span>
    )
  return (
    <Button kind="plain" title={say.held(info)} onClick={() => void leave()}>
      {say.signOut(highest(info))}
    </Button>
  )
}

function liveWords({ counts }: RunsStore): string {
  const reporting = counts.value?.running
  if (route.value.page === 'runs' && reporting !== undefined && !isFiltered(listFilter.value))
    return linkWords.liveRuns(reporting)
  const ageS = lastReceivedAt.value === null ? 0 : (now.value - lastReceivedAt.value) / 1_000
  return linkWords.live(Math.max(0, ageS))
}

function Mark() {
  return (
    <svg width="18" height="18" viewBox="0 0 18 18" aria-hidden="true">
      <rect x="1" y="2" width="4" height="14" fill="var(--ink)" />
      <rect x="7" y="6" width="4" height="10" fill="var(--ink)" opacity=".55" />
      <rect x="13" y="12" width="4" height="4" fill="var(--wait-fill)" />
    </svg>
  )
}

const RAYS =
  'M8 2v1.6M8 12.4V14M2 8h1.6M12.4 8H14M3.8 3.8l1.1 1.1M11.1 11.1l1.1 1.1M3.8 12.2l1.1-1.1M11.1 4.9l1.1-1.1'

/** Light, dark, or as the system says: a press switches to the next; glyph and word show the present one. */
function ThemeButton() {
  const theme = chosenTheme.value ?? 'system'
  const word = frame.themes[theme]
  return (
    <Button
      kind="plain theme with-glyph"
      aria-label={frame.themeTitle(word)}
      title={frame.themeTitle(word)}
      onClick={nextTheme}
    >
      <svg width="16" height="16" viewBox="0 0 16 16" aria-hidden="true">
        {theme === 'dark' ? (
          <path d="M12.9 10A5.5 5.5 0 0 1 6 3.1 5.5 5.5 0 1 0 12.9 10z" fill="currentColor" />
        ) : (
          <circle
            cx="8"
            cy="8"
            r={theme === 'light' ? 3 : 5.5}
            fill="none"
            stroke="currentColor"
            stroke-width="1.4"
          />
        )}
        {theme === 'system' && <path d="M8 2.5a5.5 5.5 0 0 1 0 11z" fill="currentColor" />}
        {theme === 'light' && <path d={RAYS} stroke="currentColor" stroke-width="1.4" />}
      </svg>
      <span>{word}</span>
    </Button>
  )
}
