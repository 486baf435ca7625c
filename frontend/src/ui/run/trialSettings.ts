/** How settings that were tried are written: those in which they differ. */
import type { Trial } from '../../api/schema'
import { formatSetting } from '../../format'

/** The settings in which trials differ. */
export function varying(trials: readonly Trial[]): readonly string[] {
  const names = [...new Set(trials.flatMap(({ settings }) => Object.keys(settings)))]
  return names.filter(name => new Set(trials.map(({ settings }) => settings[name])).size > 1)
}

export function settingsOf(settings: Trial['settings'], names: readonly string[]): string {
  return names.map(name => `${name}=${formatSetting(settings[name] ?? null)}`).join(', ')
}
