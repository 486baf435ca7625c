/** The frame around every page: the bar on top, what is wrong with the service, and the page of the address. */
import { useSignal } from '@preact/signals'
import { useErrorBoundary, useLayoutEffect } from 'preact/hooks'
import { MissingPage } from './pages/MissingPage'
import { RunPage } from './pages/RunPage'
import { RunsPage } from './pages/RunsPage'
import { navigate, type Route, route } from './router'
import { bind } from './shortcuts'
import { signInNeeded } from './store/connection'
import { openRuns } from './store/runs'
import { frame } from './text/frame'
import { nextTheme } from './theme'
import { Toast } from './ui/frame/Toast'
import { TopBar, WhoAsks } from './ui/frame/TopBar'
import { FaultBanner, GoneBanner } from './ui/parts/Banner'
import { Fence, onDemand } from './ui/parts/onDemand'
import { Skeleton } from './ui/parts/Skeleton'
import { RunsContext, useStore } from './ui/parts/stores'

const ComparePage = onDemand(async () => (await import('./pages/ComparePage')).ComparePage, <Skeleton />)
const HostsPage = onDemand(async () => (await import('./pages/HostsPage')).HostsPage, <Skeleton />)
const AlertsPage = onDemand(async () => (await import('./pages/AlertsPage')).AlertsPage, <Skeleton />)
const TeamPage = onDemand(async () => (await import('./pages/TeamPage')).TeamPage, <Skeleton />)
const SignInPage = onDemand(async () => (await import('./pages/SignInPage')).SignInPage)
const KeysDialog = onDemand(async () => (await import('./ui/frame/KeysDialog')).KeysDialog)

export function App() {
  const runs = useStore(openRuns)
  const showsKeys = useSignal(false)
  const [fault] = useErrorBoundary()

  useLayoutEffect(
    () =>
      bind('frame', {
        t: nextTheme,
        '?': () => {
          showsKeys.value = true
        },
        'g r': () => navigate('/'),
        'g c': () => navigate('/compare'),
        'g h': () => navigate('/hosts'),
        'g t': () => navigate('/team'),
        'g a': () => navigate('/alerts'),
      }),
    [showsKeys],
  )

  return (
    <RunsContext.Provider value={runs}>
      <a class="skip" href="#content">
        {frame.skipToContent}
      </a>
      <TopBar onKeys={() => (showsKeys.value = true)} />
      <GoneBanner />
      <main id="content" class="page" tabIndex={-1}>
        {fault ? (
          <FaultBanner error={fault as Error} />
        ) : (
          <Fence key={placeOf(route.value)}>
            <Page />
          </Fence>
        )}
      </main>
      {/* Where the bar has no room for it. */}
      <div class="page narrow-only screen-only">
        <WhoAsks />
      </div>
      <Toast />
      {showsKeys.value && <KeysDialog onClose={() => (showsKeys.value = false)} />}
    </RunsContext.Provider>
  )
}

/** What failed on one page does not fail on the next. */
function placeOf(here: Route): string {
  return here.page === 'run' ? here.runId : here.page
}

function Page() {
  if (signInNeeded.value) return <SignInPage />
  const here = route.value
  switch (here.page) {
    case 'runs':
      return <RunsPage />
    case 'run':
      return <RunPage key={here.runId} runId={here.runId} />
    case 'compare':
      return <ComparePage />
    case 'hosts':
      return <HostsPage />
    case 'team':
      return <TeamPage />
    case 'alerts':
      return <AlertsPage />
    default:
      return <MissingPage />
  }
}
