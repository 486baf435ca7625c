/** The Alerts page: who gets messages about what, and what was sent. */
import type { Alert, AlertRule, Channel } from '../api/schema'
import { formatDuration, formatFraction, formatNumber, plural } from '../format'

type Condition = AlertRule['condition']
type Kind = Channel['kind']

export const alerts = {
  what: 'The alerts',
  nobody: 'Nobody is told when a run loses time.',
  nobodyDetail:
    'Add a channel (a webhook, a chat, or e-mail), then a rule that says when it is told: a run waits for data, loses hours, changes its verdict, runs out of memory; a rank straggles; a host is offline.',
  onlyAdmins: 'Who administers the service may add channels and rules.',
  head: (rules: number, channels: number) =>
    rules === 0
      ? 'No rule tells anybody yet.'
      : `${plural(rules, 'rule')} ${rules === 1 ? 'tells' : 'tell'} ${plural(channels, 'channel')}.`,
  noRule: 'Add one: it says when a channel is told of a run.',
  channels: {
    title: 'Channels',
    ofProject: (project: string) => `, of ${project} only`,
    add: 'Add a channel',
    none: 'None yet. Each webhook, chat or e-mail address that messages go to will stand here.',
    test: 'Test',
    testOf: (name: string) => `Test ${name}`,
    took: (name: string) => `${name} received the test message.`,
    tookBut: (name: string, but: string) => `${name} received the test message, but ${but}.`,
    missed: (name: string, why: string) => `The test message did not reach ${name}: ${why}.`,
    onItsWay: 'it is still on its way; the log below will say',
  },
  kinds: { webhook: 'webhook', slack: 'Slack-compatible', email: 'e-mail' } satisfies Record<Kind, string>,
  rules: {
    title: 'Rules',
    add: 'Add a rule',
    whose: ({ project, user }: AlertRule) => {
      const by = user === null ? 'everybody’s runs' : `runs of ${user || 'nobody'}`
      return project === null ? by : `${by} in ${project}`
    },
    tells: (name: string) => `tells ${name}`,
    removeOf: (words: string) => `Remove: ${words}`,
  },
  log: {
    title: 'Sent',
    detail: 'messages of the last weeks, newest first',
    none: 'Nothing was sent yet.',
    more: 'Earlier messages',
    removed: 'a removed channel',
    states: {
      sent: (alert: Alert) => (alert.error === null ? 'sent' : `sent, but ${alert.error}`),
      waiting: ({ attempts, error }: Alert) =>
        attempts === 0 ? 'waiting' : `waiting after ${plural(attempts, 'attempt')}: ${error}`,
      failed: ({ error }: Alert) => `not sent: ${error}`,
    },
  },
  remove: {
    channel: (name: string) => `Remove the channel ${name}?`,
    channelDetail: (rules: number) =>
      rules > 0
        ? `${plural(rules, 'rule')} that ${rules === 1 ? 'tells' : 'tell'} it will be removed, too.`
        : 'No rule tells it.',
    rule: 'Remove this rule?',
  },
  newChannel: {
    title: 'Add a channel',
    kind: 'Kind',
    name: 'Name',
    url: 'Address',
    urlDetail: {
      webhook:
        'Messages are JSON, signed as Standard Webhooks say. The address is encrypted, and not shown again.',
      slack:
        'The incoming webhook of Slack, Mattermost, Rocket.Chat and others. It is encrypted, and not shown again.',
    },
    to: 'Recipients, separated by commas',
    noMail: 'The service has no mail server: its operator sets UNDERFED_SMTP_URL.',
    project: 'Only of project',
    any: 'any',
  },
  secret: {
    title: (name: string) => `The secret of ${name}`,
    lead: 'Messages are signed with it. It is shown this once.',
  },
  newRule: {
    title: 'Add a rule',
    condition: 'When',
    threshold: {
      data_bound: 'From this percentage of step time on',
      hours_lost: 'From this many hours on',
      memory: 'Within this many hours',
    } as Partial<Record<Condition, string>>,
    lasts: 'For at least this many minutes',
    coolDown: 'Not again for the same within this many hours',
    recovery: 'Tell when it is over, too',
    channel: 'Tells',
    project: 'Only of project',
    user: 'Only runs of user',
  },
  /** `waits for data, from 20%, for 10 min` */
  words: (rule: AlertRule) =>
    [
      rule.condition_label,
      rule.threshold === null ? '' : thresholdWords(rule.condition, rule.threshold),
      rule.for_us ? `for ${formatDuration(rule.for_us)}` : '',
    ]
      .filter(Boolean)
      .join(', '),
}

function thresholdWords(condition: Condition, threshold: number): string {
  if (condition === 'data_bound') return `from ${formatFraction(threshold)}`
  return `${condition === 'memory' ? 'within' : 'from'} ${formatNumber(threshold)} h`
}
