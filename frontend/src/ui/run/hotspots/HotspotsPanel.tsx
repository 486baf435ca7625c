/** Where a loader spends its time: functions with their shares, how they call each other, and the slowest samples. */
import { type Signal, useSignal } from '@preact/signals'
import type { ComponentChildren } from 'preact'
import { get } from '../../../api/client'
import type { HotspotsPage } from '../../../api/schema'
import { asSentence, formatFraction, formatNumber } from '../../../format'
import type { Still } from '../../../store/run'
import { hotspots as say } from '../../../text/hotspots'
import { TroubleBanner } from '../../parts/Banner'
import { Choices } from '../../parts/Choice'
import { Snippet } from '../../parts/CopyButton'
import { Panel } from '../../parts/Panel'
import { useAnswer } from '../../parts/stores'
import { FlamePanel } from './FlamePanel'
import { HotspotList, StacksMenu } from './HotspotList'
import { SlowSamples } from './SlowSamples'
import './HotspotsPanel.css'

/** Bursts of samples are handed over every 20 s. */
const REST_MS = 15_000

interface HotspotsPanelProps {
  run: Still
  /** `null`: the one that the run's verdict is about. */
  loader: string | null
  /** `null`: all together. */
  rank: number | null
  /** What to do is known without it. */
  isFolded?: boolean
}

export function HotspotsPanel({ run, loader, rank, isFolded = false }: HotspotsPanelProps) {
  const of = useSignal<HotspotsPage['of']>('loading')
  const chosen = { loader, rank, of: of.value }
  const answer = useAnswer(
    stop => get('/api/v1/runs/{run_id}/hotspots', { path: { run_id: run.run_id }, query: chosen }, stop),
    [run.run_id],
    { restMs: REST_MS, topics: [`run:${run.run_id}`] },
    [loader, rank, of.value],
  )
  const [page, trouble] = [answer.value, answer.trouble.value]
  return (
    <>
      {trouble && <TroubleBanner what={say.what} error={trouble} />}
      {page && <Shown page={page} run={run} of={of} isFolded={isFolded} />}
    </>
  )
}

interface ShownProps {
  page: HotspotsPage
  run: Still
  of: Signal<HotspotsPage['of']>
  isFolded: boolean
}

/** Addresses within the folded part open it. */
const WITHIN = ['#hotspots', '#flame', '#slow-samples']

function Shown({ page, run, of, isFolded }: ShownProps) {
  const search = useSignal('')
  const hasRanks = run.ranks.length > 1
  const sampled = page.has_step && <Sampled of={of} />
  const slowest = page.slow_samples.length > 0 && <SlowSamples page={page} hasRanks={hasRanks} />
  if (page.hotspots.length === 0) {
    return (
      <>
        <NotSampled page={page} run={run} controls={sampled} isFolded={isFolded} />
        {slowest}
      </>
    )
  }
  const list = <HotspotList page={page} ranks={run.ranks.length} search={search} controls={sampled} />
  if (!isFolded) {
    // It stands where fixes would, which is too narrow for both.
    return (
      <div class="hotspots-alone">
        {list}
        {slowest}
        <FlamePanel page={page} search={search} isFolded />
      </div>
    )
  }
  const panels = (
    <div class="hotspot-panels titled">
      <div>
        {list}
        {slowest}
      </div>
      <FlamePanel page={page} search={search} />
    </div>
  )
  return (
    <Panel
      title={say.titles[page.of]}
      detail={foremost(page)}
      isFolded
      isAskedFor={WITHIN.includes(location.hash)}
    >
      {panels}
    </Panel>
  )
}

/** Of the lines, or of the functions by what they do themselves. */
const FOREMOST = 2

function foremost({ hot_lines: lines, hotspots }: HotspotsPage): string {
  const named =
    lines.length > 0
      ? lines.map(({ called, function: within, fraction }) => [called ?? within, fraction] as const)
      : hotspots.map(({ function: name, self_fraction: fraction }) => [name, fraction] as const)
  return named
    .toSorted(([, one], [, other]) => other - one)
    .slice(0, FOREMOST)
    .map(([name, fraction]) => `${formatFraction(fraction)} ${name}`)
    .join(', ')
}

/** Workers and, where it was asked for, the training thread. */
function Sampled({ of }: Pick<ShownProps, 'of'>) {
  return (
    <Choices
      label={say.sampled}
      value={of.value}
      options={Object.entries(say.choices) as [HotspotsPage['of'], string][]}
      small
      onChoose={chosen => (of.value = chosen)}
    />
  )
}

interface NotSampledProps extends Pick<ShownProps, 'page' | 'run' | 'isFolded'> {
  controls: ComponentChildren
}

/** Too little was seen, or nothing is looked at: the reason, and what would change it. */
function NotSampled({ page, run, controls, isFolded }: NotSampledProps) {
  const settings = run.loaders.find(one => one.loader === page.loader)?.settings
  const loadsItself = page.samples === 0 && settings?.num_workers === 0
  const isExplained = whyNot(page, run) !== undefined
  const outlook = run.status === 'running' ? say.isRunning : say.hasEnded
  return (
    <Panel
      title={say.titles[page.of]}
      name="hotspots"
      detail={isFolded ? say.tooFew(page.samples) : undefined}
      isFolded={isFolded}
      controls={
        <>
          {controls}
          {page.samples > 0 && <StacksMenu runId={page.run_id} few={formatNumber(page.samples)} />}
        </>
      }
    >
      <p class="missing">
        {asSentence(page.missing ?? '')}
        {!isExplained && !loadsItself && ` ${outlook}`}
      </p>
      {!isExplained && loadsItself && <Snippet code={profiled(run)} />}
    </Panel>
  )
}

/** What the agent said: more samples will not come. */
function whyNot({ loader }: HotspotsPage, run: Still): string | undefined {
  const own = run.loaders.find(one => one.loader === loader)?.not_measured
  return own?.hotspots ?? run.not_measured.hotspots ?? own?.load_us ?? run.not_measured.load_us
}

function profiled({ command }: Still): string {
  return `underfed run --profile -- ${command.length > 0 ? command.join(' ') : 'python train.py'}`
}
