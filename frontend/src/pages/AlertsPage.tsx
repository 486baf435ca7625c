/** Who is told when a run loses time, by which channel, and what was sent. */
import { useSignal } from '@preact/signals'
import { NoAnswer, ServiceError } from '../api/client'
import type { Alert, AlertRule, Alerts, Channel, ChannelMade, AlertsPage as Log } from '../api/schema'
import { runHref } from '../router'
import { type AlertsStore, openAlerts, removeChannel, removeRule, testChannel } from '../store/alerts'
import { may, mayAnywhere } from '../store/may'
import { show } from '../store/notice'
import { alerts as say } from '../text/alerts'
import { text } from '../text/shared'
import { ChannelDialog, SecretDialog } from '../ui/alerts/ChannelDialog'
import { RuleDialog } from '../ui/alerts/RuleDialog'
import { TroubleBanner } from '../ui/parts/Banner'
import { Button } from '../ui/parts/Button'
import { FormDialog } from '../ui/parts/Dialog'
import { Panel } from '../ui/parts/Panel'
import { usePage } from '../ui/parts/page'
import { Skeleton } from '../ui/parts/Skeleton'
import { useStore } from '../ui/parts/stores'
import { When } from '../ui/parts/When'
import './AlertsPage.css'

export function AlertsPage() {
  const store = useStore(openAlerts)
  usePage(text.alerts, {})
  const [alerts, trouble] = [store.alerts.value, store.alerts.trouble.value]
  return (
    <>
      {trouble && <TroubleBanner what={say.what} error={trouble} />}
      {!alerts && !trouble && <Skeleton />}
      {alerts && <Loaded alerts={alerts} store={store} />}
    </>
  )
}

type Asking = 'channel' | 'rule' | Channel | AlertRule | null

function Loaded({ alerts, store }: { alerts: Alerts; store: AlertsStore }) {
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
          <ChannelList channels={channels} store={store} onRemove={channel => (asking.value = channel)} />
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
      {channels.length > 0 && <Sent store={store} />}
      {asking.value === 'channel' && (
        <ChannelDialog
          sendsEmail={alerts.sends_email}
          onAdded={added => {
            if (added.secret !== null) made.value = added
            store.readAgain()
          }}
          onClose={close}
        />
      )}
      {asking.value === 'rule' && (
        <RuleDialog channels={channels} onAdded={store.readAgain} onClose={close} />
      )}
      {asking.value !== null && typeof asking.value === 'object' && (
        <RemoveDialog of={asking.value} rules={rules} onRemoved={store.readAgain} onClose={close} />
      )}
      {made.value && asking.value === null && (
        <SecretDialog made={made.value} onClose={() => (made.value = null)} />
      )}
    </>
  )
}

interface ChannelListProps {
  channels: readonly Channel[]
  store: AlertsStore
  onRemove(channel: Channel): void
}

function ChannelList({ channels, store, onRemove }: ChannelListProps) {
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
              <TestButton channel={channel} onTested={() => store.log.read()} />
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

const STEP = 20
/** The service sends at most this many at once. */
const MOST = 500

function Sent({ store }: { store: AlertsStore }) {
  const asked = useSignal(STEP)
  const [log, trouble] = [store.log.value, store.log.trouble.value]
  return (
    <Panel title={say.log.title} detail={say.log.detail}>
      {trouble && !log && <TroubleBanner what={say.what} error={trouble} />}
      {log && <SentList log={log} />}
      {log?.next_cursor && asked.value < MOST && (
        <Button
          kind="small"
          onClick={() => {
            asked.value = Math.min(MOST, asked.value * 4)
            store.more(asked.value)
          }}
        >
          {say.log.more}
        </Button>
      )}
    </Panel>
  )
}

function SentList({ log: { alerts } }: { log: Log }) {
  if (alerts.length === 0) return <p class="missing">{say.log.none}</p>
  return (
    <ol class="alerts-sent">
      {alerts.map(alert => (
        <li key={alert.alert_id}>
          <When at={alert.made_at} />
          <div>
            {alert.run_id === null ? (
              alert.message.title
            ) : (
              <a href={runHref(alert.run_id)}>{alert.message.title}</a>
            )}
            <span class={`alerts-state ${alert.state}`}>
              {alert.channel ?? say.log.removed}: {say.log.states[alert.state](alert)}
            </span>
          </div>
        </li>
      ))}
    </ol>
  )
}
