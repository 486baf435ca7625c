/** Light, dark, or as the system says: a press switches to the next; glyph and word show the present one. */
import { frame as say } from '../../text/frame'
import { chosenTheme, nextTheme } from '../../theme'
import { Button } from '../parts/Button'

const RAYS =
  'M8 2v1.6M8 12.4V14M2 8h1.6M12.4 8H14M3.8 3.8l1.1 1.1M11.1 11.1l1.1 1.1M3.8 12.2l1.1-1.1M11.1 4.9l1.1-1.1'

export function ThemeButton() {
  const theme = chosenTheme.value ?? 'system'
  const word = say.themes[theme]
  return (
    <Button
      kind="plain theme with-glyph"
      aria-label={say.themeTitle(word)}
      title={say.themeTitle(word)}
      onClick={nextTheme}
    >
      <svg width="16" height="16" viewBox="0 0 16 16" aria-hidden="true">
        {theme === 'dark' ? (
          <path d="M12.9 10A5.5 5.5 0 0 1 6 3.1 5.5 5.5 0 1 0 12.9 10z" fill="currentColor" />
        ) : (
          <circle
            cx="8"
            cy="8"
            r={theme === 'light' ? 3 : 5.5}
            fill="none"
            stroke="currentColor"
            stroke-width="1.4"
          />
        )}
        {theme === 'system' && <path d="M8 2.5a5.5 5.5 0 0 1 0 11z" fill="currentColor" />}
        {theme === 'light' && <path d={RAYS} stroke="currentColor" stroke-width="1.4" />}
      </svg>
      <span>{word}</span>
    </Button>
  )
}
