/** The list of shortcuts, and the switch that turns the single keys off. */
import { shortcutsAreOn, switchShortcuts } from '../../shortcuts'
import { keys } from '../../text/frame'
import { text } from '../../text/shared'
import { Button } from '../parts/Button'
import { Dialog } from '../parts/Dialog'
import './KeysDialog.css'

export function KeysDialog({ onClose }: { onClose(): void }) {
  return (
    <Dialog title={keys.title} class="keys" onClose={onClose}>
      {close => (
        <>
          {/* First: it gets the focus, which a long list would be scrolled to. */}
          <label class="row">
            <input
              type="checkbox"
              checked={shortcutsAreOn.value}
              onChange={event => switchShortcuts(event.currentTarget.checked)}
            />
            {keys.on}
          </label>
          <dl>
            {keys.table.map(([names, does]) => (
              <div key={names}>
                <dt>{names.split(' ').map(name => (name === '…' ? ' … ' : <kbd key={name}>{name}</kbd>))}</dt>
                <dd class="quiet">{does}</dd>
              </div>
            ))}
          </dl>
          <Button onClick={close}>{text.close}</Button>
        </>
      )}
    </Dialog>
  )
}
