/** How the run was started, by what versions and with which configuration; what the job's run before had is marked. */
import type { Run } from '../../api/schema'
import { formatSetting } from '../../format'
import { runHref } from '../../router'
import type { Still } from '../../store/run'
import { runFacts as say } from '../../text/run'
import { Snippet } from '../parts/CopyButton'
import { Panel } from '../parts/Panel'
import { SettingsList } from './SettingsList'

/** Facts that a person may leave out. Any other fact that the previous run lacks was not known then. */
const CHOSEN = /^(config\.|--set )/

type Row = readonly [name: string, value: string]

export function RunFacts({ run, previous }: { run: Still; previous: Run | null }) {
  const rows = rowsOf(run)
  const before = previous && new Map(rowsOf(previous))
  const command = run.command.join(' ')
  return (
    <Panel
      title={say.title}
      name="facts"
      isFolded
      detail={
        previous && (
          <>
            {say.compared} <a href={runHref(previous.run_id)}>{previous.name}</a>
          </>
        )
      }
      figures={{ file: () => ({ columns: ['fact', 'value'], rows: [['command', command], ...rows] }) }}
    >
      {command && <Snippet code={command} />}
      <SettingsList
        rows={rows.map(([name, value]) => ({ name, value, was: before && was(before, name, value) }))}
      />
    </Panel>
  )
}

/** The previous value, where it was another. */
function was(before: ReadonlyMap<string, string>, name: string, value: string): string | null {
  const isKnown = before.has(name) || CHOSEN.test(name)
  return isKnown && before.get(name) !== value ? (before.get(name) ?? say.unset) : null
}

/** Only what is known. */
function rowsOf(run: Still): readonly Row[] {
  const known: readonly (readonly [string, string | null])[] = [
    ['python', run.python_version],
    ['torch', run.torch_version],
    ['cuda', run.cuda_version],
    ['rocm', run.hip_version],
    ['cudnn', run.cudnn_version],
    ['gpu driver', [...new Set(run.hosts.map(host => host.gpu_driver).filter(Boolean))].join(', ')],
    ['agent', run.agent_version],
    ['launcher', run.launcher],
    ['gpus', run.gpus ? `${run.gpus} × ${run.gpu_name ?? 'GPU'}` : null],
    ['ranks', String(run.world_size)],
    ...Object.entries(run.config).map(([key, value]) => [`config.${key}`, formatSetting(value)] as const),
    ...Object.entries(run.overrides).map(([key, value]) => [`--set ${key}`, formatSetting(value)] as const),
  ]
  return known.filter((row): row is Row => Boolean(row[1]))
}
