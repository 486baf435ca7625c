/** Which run this is: name, state, where and whose. */
import { useSignal } from '@preact/signals'
import { Fragment } from 'preact'
import type { Run, TrackerRun } from '../../api/schema'
import { formatAge, formatNumber, formatSetting, formatTags } from '../../format'
import { navigate, runHref, runsHref } from '../../router'
import { archive, unarchive } from '../../store/actions'
import { compareWithEarlier } from '../../store/compareHref'
import { may } from '../../store/may'
import { edit, exportMenu, run as say } from '../../text/run'
import { actions, comparing } from '../../text/shared'
import { isEndUnknown } from '../../verdict'
import { Button } from '../parts/Button'
import { StatusGlyph } from '../parts/Glyph'
import { Menu } from '../parts/Menu'
import { Notes } from '../parts/Notes'
import { onDemand } from '../parts/onDemand'
import { Several } from '../parts/Several'
import { useRuns } from '../parts/stores'
import { ageS, silentS } from '../parts/When'
import { WhyNot } from '../parts/WhyNot'
import './RunHead.css'

const DeleteDialog = onDemand(async () => (await import('../parts/DeleteDialog')).DeleteDialog)
const EditDialog = onDemand(async () => (await import('./EditDialog')).EditDialog)

export function RunHead({ run, loader }: { run: Run; loader: string | null }) {
  const overrides = Object.entries(run.overrides)
  return (
    <div class="run-head">
      <h1 class="cut" title={run.name}>
        {run.name}
      </h1>
      <span class="meta detail">
        <span class="with-glyph quiet">
          <StatusGlyph status={run.status} />
          {isEndUnknown(run, silentS(run))
            ? say.endUnknown(formatAge(ageS(run)))
            : say.after(run.status, formatAge(ageS(run)))}
        </span>
        <span>{stepsOf(run, loader)}</span>
        <span class="cut" title={run.hostnames.join(', ')}>
          <Several names={run.hostnames} />, {run.gpus ? say.gpus(run.gpus, run.gpu_name) : say.noGpu}
        </span>
        {run.world_size > 1 && <span>{say.ranks(run.world_size)}</span>}
        {run.restart_count !== null && run.restart_count > 0 && (
          <span>{say.restarted(run.restart_count)}</span>
        )}
        <span class="cut" title={run.user}>
          {run.user}
        </span>
        <span class="cut" title={run.project}>
          {run.project}
        </span>
      </span>
      {formatTags(run.tags).map(tag => (
        <span key={tag} class="tag" title={tag}>
          {tag}
        </span>
      ))}
      {(overrides.length > 0 || run.advice_of) && (
        <span class="meta detail">
          {overrides.length > 0 && (
            <span>
              {say.overrides}{' '}
              {overrides.map(([key, value], index) => (
                <Fragment key={key}>
                  {index > 0 && ', '}
                  <code>{`${key}=${formatSetting(value)}`}</code>
                </Fragment>
              ))}
            </span>
          )}
          {run.advice_of && (
            <span>
              {say.advised} <a href={runHref(run.advice_of)}>{run.advice_of}</a>
            </span>
          )}
        </span>
      )}
      <Scheduled run={run} />
      {run.trackers.length > 0 && (
        <span class="meta detail">
          {run.trackers.map(each => (
            <TrackerLink key={each.tracker} of={each} />
          ))}
        </span>
      )}
      <span class="actions screen-only">
        <Button
          kind="small"
          data-shortcut="c"
          onClick={() => void compareWithEarlier(run).then(href => navigate(href))}
        >
          {comparing.with} <kbd class="wide-only">c</kbd>
        </Button>
        {run.no_loader === null && <ExportMenu run={run} />}
        {may('edit', run.project) ? <Actions run={run} /> : <WhyNot />}
      </span>
      {run.notes && <Notes text={run.notes} />}
    </div>
  )
}

/** Where a cluster's scheduler has it, in one line; nothing for a run that none started. */
function Scheduled({ run: { slurm_job_id, train_job, pods, namespace, queue } }: { run: Run }) {
  const of = say.scheduled
  const parts: readonly (readonly [string, string])[] = [
    ...(slurm_job_id ? [[of.slurm(slurm_job_id), slurm_job_id] as const] : []),
    ...(train_job ? [[of.trainJob(train_job), train_job] as const] : []),
    ...(pods[0] ? [[of.pods(pods.length, pods[0]), pods.join(', ')] as const] : []),
    ...(namespace ? [[of.namespace(namespace), namespace] as const] : []),
    ...(queue ? [[of.queue(queue), queue] as const] : []),
  ]
  if (parts.length === 0) return null
  return (
    <span class="meta detail">
      {parts.map(([words, whole]) => (
        <span key={words} class="cut" title={whole}>
          {words}
        </span>
      ))}
    </span>
  )
}

/** The same run elsewhere: a link where it has a page, else where to find it. The service lets only the web's pass. */
function TrackerLink({ of: { tracker, run, url } }: { of: TrackerRun }) {
  const name = say.trackers[tracker] ?? tracker
  return url ? (
    <a href={url} title={run} rel="noopener noreferrer nofollow" target="_blank">
      {name}
    </a>
  ) : (
    <span class="cut" title={run}>
      {name} <code>{run}</code>
    </span>
  )
}

/** `loader`: whose steps they are, in a run with several. */
function stepsOf({ steps, status, outlook }: Run, loader: string | null): string {
  const end = outlook?.last_step ? formatNumber(outlook.last_step) : null
  return say.steps(formatNumber(steps), status === 'running', end, loader)
}

/** A running run cannot be deleted: its next steps would be refused. */
function Actions({ run }: { run: Run }) {
  const runs = useRuns()
  const isEdited = useSignal(false)
  const isDeleting = useSignal(false)
  const isArchived = run.archived_at !== null
  return (
    <>
      <Button kind="small" onClick={() => (isEdited.value = true)}>
        {edit.button}
      </Button>
      {isEdited.value && <EditDialog run={run} onClose={() => (isEdited.value = false)} />}
      <Button kind="small" onClick={() => void (isArchived ? unarchive : archive)(runs, [run.run_id])}>
        {isArchived ? actions.unarchive : actions.archive}
      </Button>
      {run.status !== 'running' &&
        (may('admin', run.project) ? (
          <Button kind="small" onClick={() => (isDeleting.value = true)}>
            {actions.delete}
          </Button>
        ) : (
          <WhyNot power="admin" />
        ))}
      {isDeleting.value && (
        <DeleteDialog
          runs={[run]}
          onDeleted={ids => ids.length > 0 && navigate(runsHref())}
          onClose={() => (isDeleting.value = false)}
        />
      )}
    </>
  )
}

/** Every recorded step, as `underfed export` writes it. */
function ExportMenu({ run }: { run: Run }) {
  const path = `/api/v1/runs/${encodeURIComponent(run.run_id)}/export?format=`
  const items = Object.entries(exportMenu.formats).map(([format, [label, detail]]) => ({
    label,
    detail,
    href: path + format,
  }))
  return <Menu label={exportMenu.button} items={items} small />
}
