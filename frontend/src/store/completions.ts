/** Suggestions for the last term of a search: keys, then the words that a key takes. */
import { BOUNDS, STATUSES } from './filter'
import { quoted } from './terms'

const LEVELS = ['healthy', 'watch', 'limited', 'bound', 'unknown']
/** Keys with the sign that mostly follows them; docs/search.md has them all. */
const KEYS = [
  'project: user: host: name: tag: status: bound: level: cause: is:',
  'num_workers< stall> hours_lost> gain> gained> step_us> steps_per_s< ranks> step>',
  'started< ended< seen< id: job: loader: gpu: dataset: mount: tracker: notes: reason:',
  'slurm: train_job: pod: namespace: queue:',
].flatMap(line => line.split(' '))

/** What some keys take. */
interface Names {
  projects: readonly string[]
  users: readonly string[]
  causes: readonly string[]
}

/** Whole expressions, as the browser's list of suggestions replaces all that was typed. */
export function completions(typed: string, { projects, users, causes }: Names): readonly string[] {
  const last = typed.match(/\S*$/)?.[0] ?? ''
  const before = typed.slice(0, typed.length - last.length)
  const words: Record<string, readonly string[]> = {
    status: STATUSES,
    bound: BOUNDS,
    level: LEVELS,
    cause: [...causes, 'none'],
    is: ['archived'],
    project: projects.map(quoted),
    user: users.map(quoted),
  }
  const compared = last.match(/^(-?)(\w+):(.*)$/)
  const sign = last.startsWith('-') ? '-' : ''
  const offered = compared
    ? (words[compared[2] ?? ''] ?? []).map(word => `${compared[1]}${compared[2]}:${word}`)
    : KEYS.map(key => sign + key)
  return last ? offered.filter(term => term.startsWith(last) && term !== last).map(term => before + term) : []
}

/** Whether a term is still incomplete: the service would only refuse it. */
export function isUnfinished(typed: string): boolean {
  return /(^|\s)-$|\w(!|[:=<>,])$/.test(typed) || (typed.match(/"/g) ?? []).length % 2 === 1
}
