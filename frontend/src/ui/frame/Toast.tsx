/** What was just done to runs, with an undo button. */
import { dismiss, notice } from '../../store/notice'
import { actions as say, text } from '../../text/shared'
import { Button } from '../parts/Button'
import './Toast.css'

export function Toast() {
  const shown = notice.value
  return (
    <div class="foot-bar framed row toast screen-only" role="status" hidden={shown === null}>
      {shown && (
        <>
          <span>{shown.text}</span>
          {shown.undo && (
            <Button kind="small" onClick={() => void shown.undo?.()}>
              {say.undo}
            </Button>
          )}
          <Button kind="plain" aria-label={text.close} onClick={dismiss}>
            ×
          </Button>
        </>
      )}
    </div>
  )
}
