/** What happened during a run, as lines over its charts: epochs, validation, workers that died, others that interfered. */
import type { Diagnosis, Run, SeriesPage } from '../../api/schema'
import type { Mark } from '../../charts/annotate'
import { formatBytes, formatDuration } from '../../format'
import { charts as say, trials as sayTrials } from '../../text/charts'
import { settingsOf, varying } from './trialSettings'

export type Happened = Pick<Run, 'run_id' | 'started_at' | 'epochs' | 'died_workers'> &
  Pick<Diagnosis, 'shared' | 'trials'>

/** In order of time. Only those of the rank and loader that are shown, and what concerns all. */
export function marksOf(run: Happened, page: SeriesPage): readonly Mark[] {
  const marks = [
    ...beforeFirst(run, page),
    ...epochs(run, page),
    ...pauses(page),
    ...searches(run),
    ...deaths(run, page),
    ...interference(run),
    ...deletedSteps(page),
  ]
  return marks.toSorted((a, b) => a.at - b.at)
}

/** Of this loader alone: a pass over another one is a pause. */
function epochs(run: Happened, page: SeriesPage): readonly Mark[] {
  return run.epochs
    .filter(epoch => epoch.rank === page.rank && epoch.loader === page.loader)
    .map(({ epoch_index: index, program_epoch: own, start_us }) => ({
      at: start_us / 1e6,
      label: say.epoch(own ?? index),
    }))
}

/**
 * A band for each search, a line where a setting took over, and one where the best was kept. It begins with the first
 * setting that was another one: the steps before it were measured for the search, and changed by nothing.
 */
function searches({ trials }: Happened): readonly Mark[] {
  return [...Map.groupBy(trials, trial => trial.search).values()].flatMap(tried => {
    const begins = Math.min(
      ...tried.filter(trial => trial.number > 0).flatMap(({ blocks }) => blocks.map(block => block.start_us)),
    )
    const blocks = tried
      .flatMap(({ blocks, settings }) => blocks.map(block => ({ block, settings })))
      .filter(({ block }) => block.start_us >= begins)
    if (blocks.length === 0) return []
    const until = Math.max(...blocks.map(({ block }) => block.end_us)) / 1e6
    const names = varying(tried)
    const kept = tried.find(trial => trial.kept && trial.number > 0)
    return [
      { at: begins / 1e6, until, label: sayTrials.band },
      ...blocks.map(({ block, settings }) => ({
        at: block.start_us / 1e6,
        label: settingsOf(settings, names),
      })),
      ...(kept
        ? [{ at: until, label: sayTrials.keeps(settingsOf(kept.settings, names)), isEvent: true }]
        : []),
    ]
  })
}

/** Of what is drawn, from which a beginning without steps is named. */
const LEAST_BEFORE = 0.03

/** The program imports, builds its model, reads its index: it is neither waiting nor training. */
function beforeFirst(run: Happened, page: SeriesPage): readonly Mark[] {
  const epochs = run.epochs.filter(each => each.rank === page.rank && each.loader === page.loader)
  const [step] = page.series
  const begins = [step?.at_us[0], page.pauses[0]?.start_us, ...epochs.map(epoch => epoch.start_us)]
  const first = Math.min(...begins.filter(us => us !== undefined))
  const isBeginning = step?.first_index[0] === 0
  const isSeen = first >= LEAST_BEFORE * (page.end_us ?? step?.at_us.at(-1) ?? 0)
  return isBeginning && isSeen && first > 0 && Number.isFinite(first)
    ? [{ at: 0, until: first / 1e6, label: say.beforeFirst }]
    : []
}

/** In which nothing waits for this loader. */
function pauses({ pauses }: SeriesPage): readonly Mark[] {
  return pauses.map(({ start_us: from, end_us: until, label, written_bytes: written }) => ({
    at: from / 1e6,
    until: until / 1e6,
    label,
    detail: say.lasted(formatDuration(until - from), written ? formatBytes(written) : null),
  }))
}

/** One mark for those that were gone at one instant. */
function deaths(run: Happened, page: SeriesPage): readonly Mark[] {
  const here = run.died_workers.filter(one => one.rank === page.rank && one.loader === page.loader)
  return [...Map.groupBy(here, one => one.end_us)].flatMap(([endUs, gone]) =>
    endUs === null ? [] : [{ at: endUs / 1e6, label: say.died(gone.map(one => one.worker)), isEvent: true }],
  )
}

/** From when it began, or from the start of the run. */
function interference(run: Happened): readonly Mark[] {
  return run.shared.map(({ kind, place, runs, started_at: startedAt }) => {
    const others = runs.filter(one => one.run_id !== run.run_id).length
    return {
      at: Math.max(0, (Date.parse(startedAt) - Date.parse(run.started_at)) / 1_000),
      label: kind === 'host' ? say.sharedHost(others, place) : say.sharedMount(others, place),
      isEvent: true,
    }
  })
}

function deletedSteps(page: SeriesPage): readonly Mark[] {
  const [step] = page.series
  const before = step?.given_up_before
  const index = before ? step.first_index.findIndex(first => first >= before) : -1
  const atUs = step?.at_us[index]
  return atUs === undefined ? [] : [{ at: atUs / 1e6, label: say.coarser, isEvent: true }]
}
