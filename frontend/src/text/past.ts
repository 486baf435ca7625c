/** What was before: the tries of a job, and who changed what. */
import { plural, ZONE } from '../format'

export const history = {
  title: 'Runs of this job',
  detail: (count: number) => `${plural(count, 'run')}, oldest to newest`,
  wait: 'Wait per step',
  speed: 'Steps per second',
  lost: 'Time lost',
  lostGpu: 'GPU time lost',
  columns: (lost: string) => [
    'Run',
    `Started, ${ZONE}`,
    'Wait per step',
    'Steps/s',
    lost,
    'Changed since the run before',
  ],
  thisRun: 'this run',
  first: 'the first here',
  nothing: 'nothing that is known',
  more: (count: number) => `and ${count} more`,
  chart: (name: string, from: string, to: string) => `${name} of each run, from ${from} to ${to}`,
}

export const audit = {
  title: 'Who changed what',
  detail: 'names, tags, notes, archived, deleted and restored runs, saved views, alerts',
  none: 'Nothing was changed yet.',
  what: 'The list of changes',
  more: 'Earlier changes',
  unknown: 'somebody',
  actions: {
    renamed: 'renamed',
    tagged: 'changed the tags of',
    noted: 'changed the notes of',
    archived: 'archived',
    unarchived: 'unarchived',
    deleted: 'deleted',
    restored: 'restored',
    view_created: 'saved the view',
    view_changed: 'changed the view',
    view_deleted: 'deleted the view',
    channel_created: 'added the channel',
    channel_deleted: 'removed the channel',
    alert_rule_created: 'added a rule that tells',
    alert_rule_deleted: 'removed a rule that told',
  },
  empty: 'empty',
}
