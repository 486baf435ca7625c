/** The list of shortcuts, and the switch that turns the single keys off. */
import { useEffect, useRef } from 'preact/hooks'
import { shortcutsAreOn, switchShortcuts } from '../../shortcuts'
import { keys, text } from '../../text'

export function KeysDialog({ onClose }: { onClose(): void }) {
  const dialog = useRef<HTMLDialogElement>(null)
  useEffect(() => dialog.current?.showModal(), [])
  return (
    <dialog ref={dialog} class="dialog" aria-labelledby="keys-title" onClose={onClose}>
      <h2 id="keys-title">{keys.title}</h2>
      <dl class="keys">
        {keys.table.map(([names, does]) => (
          <div key={names}>
            <dt>{names.split(' ').map(name => (name === '…' ? ' … ' : <kbd key={name}>{name}</kbd>))}</dt>
            <dd>{does}</dd>
          </div>
        ))}
      </dl>
      <label class="check">
        <input
          type="checkbox"
          checked={shortcutsAreOn.value}
          onChange={event => switchShortcuts(event.currentTarget.checked)}
        />
        {keys.on}
      </label>
      <form method="dialog">
        <button type="submit" class="button">
          {text.close}
        </button>
      </form>
    </dialog>
  )
}
