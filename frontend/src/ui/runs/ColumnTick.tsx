/** Shows a column of the table, or no longer. */
import type { ComponentChildren } from 'preact'
import { type ColumnId, chooseColumns } from '../../store/chosen'

interface TickProps {
  id: ColumnId
  shown: readonly ColumnId[]
  children: ComponentChildren
}

export function ColumnTick({ id, shown, children }: TickProps) {
  const choose = (isShown: boolean) =>
    chooseColumns(isShown ? [...shown, id] : shown.filter(other => other !== id))
  return (
    <label class="row">
      <input
        type="checkbox"
        checked={shown.includes(id)}
        onChange={event => choose(event.currentTarget.checked)}
      />
      {children}
    </label>
  )
}
