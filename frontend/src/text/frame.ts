/** What the frame says: the bar on top, the keys, signing in, an address that names nothing. */
import type { ServiceInfo } from '../api/schema'
import { formatAge, plural } from '../format'

export const frame = {
  navigation: 'Main',
  themes: { light: 'Light', dark: 'Dark', system: 'System' },
  themeTitle: (theme: string) => `Theme: ${theme.toLowerCase()}. Press to switch (t)`,
  shortcuts: 'Keyboard shortcuts',
  search: 'Search',
  signIn: 'Sign in to change runs',
  skipToContent: 'Skip to content',
}

export const link = {
  connecting: 'connecting',
  idle: 'connected',
  asleep: 'paused while hidden',
  gone: 'no answer',
  // Of the connection and not of a run, which may have ended.
  live: (ageS: number) => (ageS < 2 ? 'connected' : `connected, last update ${formatAge(ageS)} ago`),
  liveRuns: (count: number) => `connected, ${plural(count, 'run')} reporting`,
}

export const keys = {
  title: 'Keyboard shortcuts',
  on: 'Single-key shortcuts are on',
  table: [
    ['/', 'search runs'],
    ['j k', 'next, previous run'],
    ['Enter', 'open the run'],
    ['x X', 'select the run; all since the last one selected'],
    ['c', 'compare the selected runs, or this one'],
    ['Esc', 'clear, back to the runs'],
    ['d', 'copy the first diff'],
    ['1 … 9', 'open or close a fix'],
    ['g r', 'go to Runs'],
    ['g c', 'go to Compare'],
    ['g h', 'go to Hosts'],
    ['g t', 'go to Team'],
    ['g a', 'go to Alerts'],
    ['t', 'switch between light, dark and the system’s theme'],
    ['?', 'this list'],
    ['+ - 0', 'zoom the charts in, out, to the whole run'],
    ['[ ]', 'earlier, later steps'],
    ['← →', 'move along the charts (when they have the focus)'],
    ['w s a d f', 'zoom, pan, show all (when the timeline has the focus)'],
    [', .', 'previous, next batch (when the timeline has the focus)'],
    ['↑ ↓ Enter', 'along the calls, zoom in (when the flame graph has the focus)'],
  ] as const,
}

type Scope = ServiceInfo['scopes'][number]

/** What the caller may do, as the scopes are called everywhere. */
export const scopes = {
  ofUser: (user: string, scope: Scope | null) => `${user} (${scope ?? 'no access'})`,
  signOut: (scope: Scope | null) => `Sign out (${scope ?? 'no access'})`,
  held: ({ scopes_in_all, scopes_in }: ServiceInfo) =>
    [
      ...(scopes_in_all.length > 0 ? [`Every project: ${scopes_in_all.join(', ')}.`] : []),
      ...Object.entries(scopes_in).map(([project, held]) => `${project}: ${held.join(', ')}.`),
    ].join(' ') || 'None of your groups may read here: ask whoever operates this service.',
  not: { edit: 'read only', admin: 'administrators delete' },
  whyNot: {
    edit: 'To change names, tags, notes, views or the archive takes the scope edit.',
    admin: 'To delete and restore runs takes the scope admin.',
  },
}

export const signInPage = {
  title: 'Sign in',
  lead: 'This service requires an access token. Its operator creates one:',
  command: 'underfed token create --name … --scope view',
  /** Where whoever is on the machine may read. */
  leadOfOwner:
    'Only the owner of this service may change runs: open the link that “underfed serve” printed, or enter the token in the file owner-token of its data directory.',
  label: 'Access token',
  button: 'Sign in',
  cancel: 'Only read',
  linkRefused: (why: string) => `This link signs in once, and did not: ${why}`,
}

export const missing = {
  title: 'Not found',
  run: (runId: string) => `There is no run ${runId}.`,
  runDetail: 'It may have been deleted, or its first steps have not arrived yet.',
  page: 'There is nothing at this address.',
  back: 'All runs',
}
