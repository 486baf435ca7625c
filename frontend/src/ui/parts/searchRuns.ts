/** The search field is on the runs page: go there, then into it. */
import { navigate, route } from '../../router'

export function searchRuns(): void {
  if (route.value.page !== 'runs') navigate('/')
  requestAnimationFrame(() => document.querySelector<HTMLInputElement>('input[type=search]')?.focus())
}
