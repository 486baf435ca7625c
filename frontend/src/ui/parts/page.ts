/** What every page does first: it names the tab, and listens to its own keys. */
import { useEffect, useLayoutEffect } from 'preact/hooks'
import { navigate, route } from '../../router'
import { type Bindings, bind } from '../../shortcuts'
import { text } from '../../text/shared'

/** `null`: the page names the tab itself. The keys are bound again when one of `inputs` changes. */
export function usePage(title: string | null, keys: Bindings, inputs: readonly unknown[] = []): void {
  useEffect(() => {
    if (title !== null) document.title = `${title} · ${text.product}`
  }, [title])
  useLayoutEffect(() => bind('page', { '/': searchRuns, ...keys }), inputs)
}

/** The search field is on the runs page: go there, then into it. */
export function searchRuns(): void {
  if (route.value.page !== 'runs') navigate('/')
  requestAnimationFrame(() => document.querySelector<HTMLInputElement>('input[type=search]')?.focus())
}
