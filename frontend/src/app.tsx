/** The frame around every page: the bar on top, what is wrong with the service, and the page of the address. */
import { useSignal } from '@preact/signals'
import { useErrorBoundary, useLayoutEffect } from 'preact/hooks'
import { ComparePage } from './pages/ComparePage'
import { HostsPage } from './pages/HostsPage'
import { MissingPage } from './pages/MissingPage'
import { RunPage } from './pages/RunPage'
import { RunsPage } from './pages/RunsPage'
import { SignInPage } from './pages/SignInPage'
import { TeamPage } from './pages/TeamPage'
import { navigate, route } from './router'
import { bind } from './shortcuts'
import { signInNeeded } from './store/connection'
import { text } from './text'
import { nextTheme } from './theme'
import { KeysDialog } from './ui/frame/KeysDialog'
import { Toast } from './ui/frame/Toast'
import { TopBar } from './ui/frame/TopBar'
import { GoneBanner, StumbleBanner } from './ui/parts/Banner'

export function App() {
  const showsKeys = useSignal(false)
  const [stumble] = useErrorBoundary()

  useLayoutEffect(
    () =>
      bind({
        t: nextTheme,
        '?': () => {
          showsKeys.value = true
        },
        'g r': () => navigate('/'),
        'g c': () => navigate('/compare'),
        'g h': () => navigate('/hosts'),
        'g t': () => navigate('/team'),
      }),
    [showsKeys],
  )

  return (
    <>
      <a class="skip" href="#content">
        {text.skipToContent}
      </a>
      <TopBar onKeys={() => (showsKeys.value = true)} />
      <GoneBanner />
      <main id="content" class="page" tabIndex={-1}>
        {stumble ? <StumbleBanner error={stumble as Error} /> : <Page />}
      </main>
      <Toast />
      {showsKeys.value && <KeysDialog onClose={() => (showsKeys.value = false)} />}
    </>
  )
}

function Page() {
  if (signInNeeded.value) return <SignInPage />
  const here = route.value
  switch (here.page) {
    case 'runs':
      return <RunsPage query={here.query} />
    case 'run':
      return <RunPage key={here.runId} runId={here.runId} />
    case 'compare':
      return <ComparePage query={here.query} />
    case 'hosts':
      return <HostsPage query={here.query} />
    case 'team':
      return <TeamPage />
    default:
      return <MissingPage />
  }
}
