/** Which columns the table shows; unless chosen, as many as there is room for. */
import { COLUMN_IDS, chooseColumns, chosen } from '../../store/chosen'
import { runs as say } from '../../text/runs'
import { Button } from '../parts/Button'
import { onDemand } from '../parts/onDemand'
import { Popover } from '../parts/Popover'
import { useRuns } from '../parts/stores'
import { ColumnTick } from './ColumnTick'
import { fitting, headOf, kindsOf } from './columns'
import { room } from './width'
import './ColumnsMenu.css'

const ConfigColumns = onDemand(async () => (await import('./ConfigColumns')).ConfigColumns)

export function ColumnsMenu() {
  const shown = chosen.value ?? fitting(room.value, kindsOf(useRuns()).isMixed)
  return (
    <Popover label={say.columnsMenu} class="wide-only" kind="sheet" isLazy>
      {() => (
        <>
          <fieldset class="menu-columns">
            <legend class="visually-hidden">{say.columnsMenu}</legend>
            {COLUMN_IDS.map(id => (
              <ColumnTick key={id} id={id} shown={shown}>
                {headOf(id, false)}
              </ColumnTick>
            ))}
          </fieldset>
          <ConfigColumns shown={shown} />
          <p class="detail">{chosen.value ? say.columnsChosen : say.columnsFitting}</p>
          {chosen.value && (
            <Button kind="small" onClick={() => chooseColumns(null)}>
              {say.columnsReset}
            </Button>
          )}
        </>
      )}
    </Popover>
  )
}
