/** How components get a store: a page opens its own and closes it when left; the frame owns the list of runs. */
import { createContext } from 'preact'
import { useContext, useEffect, useMemo, useRef } from 'preact/hooks'
import { openResource, type Reading, type Resource, type Store } from '../../store/resource'
import type { RunsStore } from '../../store/runs'

/** It is reopened when one of `inputs` changes. */
export function useStore<S extends Store>(open: () => S, inputs: readonly unknown[] = []): S {
  const store = useMemo(open, inputs)
  useEffect(() => store.close, [store])
  return store
}

/**
 * One answer of the service. It is opened anew when one of `inputs` changes; when one of `again` does it is only read
 * again, and what was read before stays until then.
 */
export function useAnswer<T>(
  ask: (stop: AbortSignal) => Promise<T>,
  inputs: readonly unknown[] = [],
  reading: Reading = {},
  again: readonly unknown[] = [],
): Resource<T> {
  const asking = useRef(ask)
  asking.current = ask
  const answer = useStore(() => openResource<T>(stop => asking.current(stop), reading), inputs)
  const opened = useRef<Resource<T> | null>(null)
  useEffect(() => {
    // What follows topics has read itself when it was opened.
    if (!reading.topics || opened.current === answer) void answer.read()
    opened.current = answer
  }, [answer, ...again])
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
