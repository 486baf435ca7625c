/** How components get a store: a page opens its own and closes it when left; the frame owns the list of runs. */
import { createContext } from 'preact'
import { useContext, useEffect, useMemo } from 'preact/hooks'
import { openResource, type Reading, type Resource, type Store } from '../../store/resource'
import type { RunsStore } from '../../store/runs'

/** It is reopened when one of `inputs` changes. */
export function useStore<S extends Store>(open: () => S, inputs: readonly unknown[] = []): S {
  const store = useMemo(open, inputs)
  useEffect(() => store.close, [store])
  return store
}

/** One answer of the service, read at once, and again when one of `inputs` changes. */
export function useAnswer<T>(
  ask: (stop: AbortSignal) => Promise<T>,
  inputs: readonly unknown[] = [],
  reading: Reading = {},
): Resource<T> {
  const answer = useStore(() => openResource<T>(ask, reading), inputs)
  // What follows topics has read itself when it was opened.
  useEffect(() => {
    if (!reading.topics) void answer.read()
  }, [answer])
  return answer
}

/** It outlives its page, so that the list is unchanged when the reader comes back from a run. */
export const RunsContext = createContext<RunsStore | null>(null)

/** Raises: Error outside of the frame. */
export function useRuns(): RunsStore {
  const runs = useContext(RunsContext)
  if (!runs) throw new Error('no list of runs')
  return runs
}
