/** The head of a column: pressed, it sorts the table by it, or the other way round. */
import { navigate, withQuery } from '../../router'
import { keyOf, nextSort } from '../../store/order'

interface SortHeadProps {
  label: string
  class?: string | undefined
  /** Left out: the table cannot be sorted by it. */
  by?: string | undefined
  /** Of the table. */
  sort: string
}

export function SortHead({ label, class: name, by, sort }: SortHeadProps) {
  const isSorted = keyOf(sort) === by
  const direction = sort.startsWith('-') ? 'descending' : 'ascending'
  const press = () => by && navigate(`/${withQuery({ sort: nextSort(sort, by) })}`, 'replace')
  return (
    <th scope="col" class={name} aria-sort={isSorted ? direction : undefined}>
      {by ? (
        <button type="button" onClick={press}>
          {label}
          {isSorted && <span aria-hidden="true">{direction === 'descending' ? ' ↓' : ' ↑'}</span>}
        </button>
      ) : (
        label
      )}
    </th>
  )
}
