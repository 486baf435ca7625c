/** Values of the runs’ configurations as columns: which keys there are, and which are shown. */
import { useSignal } from '@preact/signals'
import { get } from '../../api/client'
import { type ColumnId, configColumn, configKeys } from '../../store/chosen'
import { configColumns as say } from '../../text/lists'
import { Search } from '../parts/fields'
import { useAnswer } from '../parts/stores'
import { ColumnTick } from './ColumnTick'
import './ConfigColumns.css'

/** With more the menu can be searched. */
const FEW = 12

export function ConfigColumns({ shown }: { shown: readonly ColumnId[] }) {
  const found = useAnswer(stop => get('/api/v1/config', {}, stop))
  const typed = useSignal('')
  const own = configKeys.value
  const known = (found.value ?? []).map(({ key }) => key)
  const keys = [...new Set([...own, ...known])]
  if (keys.length === 0) return null
  const wanted = keys.filter(key => key.toLowerCase().includes(typed.value.toLowerCase()))
  return (
    <fieldset class="config-columns">
      <legend class="detail">{say.title}</legend>
      {keys.length > FEW && <Search label={say.search} typed={typed} />}
      <div>
        {wanted.map(key => (
          <ColumnTick key={key} id={configColumn(key)} shown={shown}>
            <span class="cut" title={key}>
              {key}
            </span>
          </ColumnTick>
        ))}
      </div>
    </fieldset>
  )
}
