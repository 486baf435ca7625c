/** Light, dark, or as the system says; set for the style sheet in `data-theme` and stored for the next visit. */
import { effect, signal } from '@preact/signals'
import { keep, recall } from './kept'

export type Theme = 'light' | 'dark'

const KEY = 'underfed-theme'
const systemIsDark = matchMedia('(prefers-color-scheme: dark)')

function stored(): Theme | null {
  const value = recall(KEY)
  return value === 'light' || value === 'dark' ? value : null
}

/** `null`: as the system says. */
export const chosenTheme = signal<Theme | null>(stored())
const system = signal<Theme>(systemIsDark.matches ? 'dark' : 'light')
/** Paper is white whatever the screen shows. */
const printing = signal(false)

function currentTheme(): Theme {
  return printing.value ? 'light' : (chosenTheme.value ?? system.value)
}

/** The order: follow the system, the other theme, the system's theme but fixed, follow the system again. */
export function nextTheme(): void {
  const other = system.value === 'dark' ? 'light' : 'dark'
  const next = chosenTheme.value === null ? other : chosenTheme.value === other ? system.value : null
  chosenTheme.value = next
  keep(KEY, next)
}

/** Registers the style sheet's colours: without it a canvas reads the text `light-dark(…)` instead of a colour. */
export function registerColours(tokens: readonly string[]): void {
  for (const token of tokens)
    CSS.registerProperty({ name: `--${token}`, syntax: '<color>', inherits: true, initialValue: 'black' })
}

/** `changed` runs after the style sheet has the new theme: charts are drawn on a canvas and no style sheet reaches them. */
export function followTheme(changed: () => void): void {
  systemIsDark.addEventListener('change', () => {
    system.value = systemIsDark.matches ? 'dark' : 'light'
  })
  addEventListener('beforeprint', () => {
    printing.value = true
  })
  addEventListener('afterprint', () => {
    printing.value = false
  })
  effect(() => {
    document.documentElement.dataset.theme = currentTheme()
    changed()
  })
}
