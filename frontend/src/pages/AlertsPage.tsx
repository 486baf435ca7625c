/** Who gets a message when a run loses time, by which channel, and what was sent. */
import { useSignal } from '@preact/signals'
import { get, NoAnswer, ServiceError } from '../api/client'
import type { Alert, AlertRule, Alerts, Channel, ChannelMade } from '../api/schema'
import { runHref } from '../router'
import { removeChannel, removeRule, testChannel } from '../store/alerts'
import { may, mayAnywhere } from '../store/may'
import { show } from '../store/notice'
import { alerts as say } from '../text/alerts'
import { text } from '../text/shared'
import { ChannelDialog, SecretDialog } from '../ui/alerts/ChannelDialog'
import { RuleDialog } from '../ui/alerts/RuleDialog'
import { TroubleBanner } from '../ui/parts/Banner'
import { Button } from '../ui/parts/Button'
import { FormDialog } from '../ui/parts/Dialog'
import { Log, useLog } from '../ui/parts/Log'
import { Panel } from '../ui/parts/Panel'
import { usePage } from '../ui/parts/page'
import { Skeleton } from '../ui/parts/Skeleton'
import { useAnswer } from '../ui/parts/stores'
import './AlertsPage.css'

export function AlertsPage() {
  const answer = useAnswer(stop => get('/api/v1/alerts', {}, stop))
  usePage(text.alerts, {})
  const [alerts, trouble] = [answer.value, answer.trouble.value]
  return (
    <>
      {trouble && <TroubleBanner what={say.what} error={trouble} />}
      {!alerts && !trouble && <Skeleton />}
      {alerts && <Loaded alerts={alerts} readAgain={() => void answer.read()} />}
    </>
  )
}

type Asking = 'channel' | 'rule' | Channel | AlertRule | null

/** The service sends at most this many messages at once. */
const MOST = 500
const LOG_REST_MS = 3_000

function Loaded({ alerts, readAgain }: { alerts: Alerts; readAgain(): void }) {
  const log = useLog((limit, stop) => get('/api/v1/alerts/log', { query: { limit } }, stop), MOST, {
    restMs: LOG_REST_MS,
    topics: ['runs'],
  })
  const changed = () => {
    readAgain()
    void log.page.read()
  }
  const asking = useSignal<Asking>(null)
  const made = useSignal<ChannelMade | null>(null)
  const { channels, rules } = alerts
  const close = () => {
    asking.value = null
  }
  return (
    <>
      <div class="page-head alerts-head">
        <h1 class="sentence">
          {channels.length === 0
            ? say.nobody
            : say.head(rules.length, new Set(rules.map(rule => rule.channel_id)).size)}
        </h1>
        {channels.length === 0 && <p class="why">{say.nobodyDetail}</p>}
        {!mayAnywhere('admin') && <p class="detail">{say.onlyAdmins}</p>}
      </div>
      <Panel
        title={say.channels.title}
        controls={
          mayAnywhere('admin') && (
            <Button kind="small" onClick={() => (asking.value = 'channel')}>
              {say.channels.add}
            </Button>
          )
        }
      >
        {channels.length > 0 ? (
          <ChannelList
            channels={channels}
            onTested={log.page.read}
            onRemove={channel => (asking.value = channel)}
          />
        ) : (
          <p class="missing">{say.channels.none}</p>
        )}
      </Panel>
      {channels.length > 0 && (
        <Panel
          title={say.rules.title}
          controls={
            mayAnywhere('admin') && (
              <Button kind="small" onClick={() => (asking.value = 'rule')}>
                {say.rules.add}
              </Button>
            )
          }
        >
          {rules.length === 0 ? (
            <p class="missing">{say.noRule}</p>
          ) : (
            <RuleList alerts={alerts} onRemove={rule => (asking.value = rule)} />
          )}
        </Panel>
      )}
      {channels.length > 0 && (
        <Panel title={say.log.title} detail={say.log.detail}>
          <Log log={log} say={{ ...say, ...say.log }} entriesOf={page => page.alerts} shown={sent} />
        </Panel>
      )}
      {asking.value === 'channel' && (
        <ChannelDialog
          sendsEmail={alerts.sends_email}
          onAdded={added => {
            if (added.secret !== null) made.value = added
            changed()
          }}
          onClose={close}
        />
      )}
      {asking.value === 'rule' && <RuleDialog channels={channels} onAdded={changed} onClose={close} />}
      {asking.value !== null && typeof asking.value === 'object' && (
        <RemoveDialog of={asking.value} rules={rules} onRemoved={changed} onClose={close} />
      )}
      {made.value && asking.value === null && (
        <SecretDialog made={made.value} onClose={() => (made.value = null)} />
      )}
    </>
  )
}

interface ChannelListProps {
  channels: readonly Channel[]
  onTested(): void
  onRemove(channel: Channel): void
}

function ChannelList({ channels, onTested, onRemove }: ChannelListProps) {
  return (
    <ul class="alerts-list">
      {channels.map(channel => (
        <li key={channel.channel_id}>
          <div>
            <b>{channel.name}</b>
            <span class="detail">
              {say.kinds[channel.kind]}: <span class="mono-name">{channel.target}</span>
              {channel.project !== null && say.channels.ofProject(channel.project)}
            </span>
          </div>
          {may('admin', channel.project) && (
            <span class="row">
              <TestButton channel={channel} onTested={onTested} />
              <Button
                kind="small"
                aria-label={`${text.remove}: ${channel.name}`}
                onClick={() => onRemove(channel)}
              >
                {text.remove}
              </Button>
            </span>
          )}
        </li>
      ))}
    </ul>
  )
}

function TestButton({ channel, onTested }: { channel: Channel; onTested(): void }) {
  const isOnItsWay = useSignal(false)
  async function test(): Promise<void> {
    isOnItsWay.value = true
    try {
      show(outcome(channel.name, await testChannel(channel.channel_id)))
    } catch (error) {
      if (!(error instanceof ServiceError || error instanceof NoAnswer)) throw error
      show(say.channels.missed(channel.name, error.message))
    } finally {
      isOnItsWay.value = false
      onTested()
    }
  }
  return (
    <Button
      kind="small"
      aria-label={say.channels.testOf(channel.name)}
      disabled={isOnItsWay.value}
      onClick={() => void test()}
    >
      {say.channels.test}
    </Button>
  )
}

function outcome(name: string, { state, error }: Alert): string {
  if (state !== 'sent') return say.channels.missed(name, error ?? say.channels.onItsWay)
  return error === null ? say.channels.took(name) : say.channels.tookBut(name, error)
}

function RuleList({
  alerts: { channels, rules },
  onRemove,
}: {
  alerts: Alerts
  onRemove(rule: AlertRule): void
}) {
  const names = new Map(channels.map(channel => [channel.channel_id, channel.name]))
  return (
    <ul class="alerts-list">
      {rules.map(rule => (
        <li key={rule.rule_id}>
          <div>
            {say.words(rule)}
            <span class="detail">
              {say.rules.whose(rule)}; {say.rules.tells(names.get(rule.channel_id) ?? rule.channel_id)}
            </span>
          </div>
          {may('admin', rule.project) && (
            <Button
              kind="small"
              aria-label={say.rules.removeOf(say.words(rule))}
              onClick={() => onRemove(rule)}
            >
              {text.remove}
            </Button>
          )}
        </li>
      ))}
    </ul>
  )
}

interface RemoveProps {
  of: Channel | AlertRule
  rules: readonly AlertRule[]
  onRemoved(): void
  onClose(): void
}

function RemoveDialog({ of, rules, onRemoved, onClose }: RemoveProps) {
  const isRule = 'rule_id' in of
  const words = isRule
    ? say.words(of)
    : say.remove.channelDetail(rules.filter(rule => rule.channel_id === of.channel_id).length)
  return (
    <FormDialog
      title={isRule ? say.remove.rule : say.remove.channel(of.name)}
      save={text.remove}
      onSave={async () => {
        await (isRule ? removeRule(of.rule_id) : removeChannel(of.channel_id))
        onRemoved()
      }}
      onClose={onClose}
    >
      <p>{words}</p>
    </FormDialog>
  )
}

function sent(alert: Alert) {
  const { made_at, run_id, message, state, channel } = alert
  return [
    made_at,
    <>
      {run_id === null ? message.title : <a href={runHref(run_id)}>{message.title}</a>}
      <span class={`alerts-state ${state}`}>
        {channel ?? say.log.removed}: {say.log.states[state](alert)}
      </span>
    </>,
  ] as const
}
