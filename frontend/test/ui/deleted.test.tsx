// @vitest-environment happy-dom
import { cleanup, fireEvent, render, screen, waitFor } from '@testing-library/preact'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import type { RunSummary, ServiceInfo } from '../../src/api/schema'
import { navigate } from '../../src/router'
import { service } from '../../src/store/connection'
import { listFilter } from '../../src/store/filter'
import { dismiss } from '../../src/store/notice'
import { openRuns, type RunsStore } from '../../src/store/runs'
import { DeleteDialog } from '../../src/ui/parts/DeleteDialog'
import { RunsContext } from '../../src/ui/parts/stores'
import { NoMatch } from '../../src/ui/runs/Empty'
import { RunRow } from '../../src/ui/runs/RunRow'
import { SelectionBar } from '../../src/ui/runs/SelectionBar'
import { summary, week } from '../made'

const COUNTS = { all: 0, running: 0, finished: 0, crashed: 0, lost: 0 }
let asked: string[]
let served: readonly RunSummary[]
let runs: RunsStore

beforeEach(() => {
  asked = []
  served = []
  vi.stubGlobal('fetch', (url: string, init: RequestInit = {}) => {
    asked.push(`${init.method ?? 'GET'} ${url}`)
    const page = { runs: served, next_cursor: null, counts: COUNTS, week: week(), config: {} }
    return Promise.resolve(
      new Response(init.method ? null : JSON.stringify(page), { status: init.method ? 204 : 200 }),
    )
  })
  service.value = {
    scopes: ['admin'],
    scopes_in_all: ['admin'],
    scopes_in: {},
    keep_deleted_us: 30 * 86_400e6,
  } as unknown as ServiceInfo
  runs = openRuns()
})
afterEach(() => {
  cleanup()
  navigate('/', 'replace')
  dismiss()
  runs.close()
  service.value = null
  vi.unstubAllGlobals()
})

const ended = (changes: Partial<RunSummary> = {}) => summary({ status: 'finished', ...changes })

function ask(selected: readonly RunSummary[]): string {
  render(
    <RunsContext.Provider value={runs}>
      <DeleteDialog runs={selected} onClose={() => undefined} />
    </RunsContext.Provider>,
  )
  return document.body.textContent ?? ''
}

describe('before runs are deleted', () => {
  test('it is said how many, until when they can be restored, and what stays', () => {
    const said = ask([ended({ run_id: 'a', hours_lost: 1.5 }), ended({ run_id: 'b', hours_lost: 2.5 })])
    expect(said).toContain('Delete 2 runs?')
    expect(said).toContain('can be restored for 30 days')
    expect(said).toContain('The 4 GPU-hours that they lost stay')
  })

  test('a running one stays, and is not asked for', async () => {
    const said = ask([ended({ run_id: 'a' }), summary({ run_id: 'going' })])
    expect(said).toContain('One of the selected runs is still running and stays.')
    fireEvent.click(screen.getByRole('button', { name: 'Delete 1 run', hidden: true }))
    await waitFor(() => expect(asked).toContain('DELETE /api/v1/runs/a'))
    expect(asked.filter(each => each.includes('going'))).toEqual([])
  })

  test('where all are running nothing can be deleted', () => {
    ask([summary({ run_id: 'going' })])
    const button = screen.getByRole('button', { name: 'Delete 0 runs', hidden: true }) as HTMLButtonElement
    expect(button.disabled).toBe(true)
  })
})

describe('in the list of deleted runs', () => {
  beforeEach(async () => {
    served = [ended({ run_id: 'gone', name: 'gone', deleted_at: '2026-11-20T10:00:00Z' })]
    navigate('/?deleted=true', 'replace')
    await runs.load(listFilter.value)
  })

  test('the service is asked for them alone, the last deleted first', () => {
    const [first = ''] = asked
    const query = new URLSearchParams(first.split('?')[1])
    expect([query.get('deleted'), query.get('sort')]).toEqual(['true', '-deleted_at'])
  })

  test('a row says when it was deleted and until when it is kept, and leads nowhere', () => {
    const row = runs.rows.get('gone')
    if (!row) throw new Error('not listed')
    render(
      <RunsContext.Provider value={runs}>
        <table>
          <tbody>
            <RunRow row={row} columns={[]} index={0} />
          </tbody>
        </table>
      </RunsContext.Provider>,
    )
    expect(document.body.textContent).toMatch(/deleted .+, kept until 20 Dec/)
    expect(document.body.textContent).not.toContain('2026-11-20T10:00:00Z')
    expect(document.querySelector('a.run-name')).toBeNull()
  })

  test('what is selected is restored, and nothing else', async () => {
    runs.selection.set(['gone'], true)
    render(
      <RunsContext.Provider value={runs}>
        <SelectionBar />
      </RunsContext.Provider>,
    )
    expect(screen.queryByRole('button', { name: 'Archive' })).toBeNull()
    fireEvent.click(screen.getByRole('button', { name: 'Restore' }))
    await waitFor(() => expect(asked).toContain('POST /api/v1/runs/gone/restore'))
  })
})

test('a list without deleted runs says that there are none, and is no search without a result', () => {
  navigate('/?deleted=true', 'replace')
  render(<NoMatch />)
  expect(document.body.textContent).toBe('No deleted run can be restored.Runs that are not deleted')
  cleanup()
  navigate('/?deleted=true&q=vit', 'replace')
  render(<NoMatch />)
  expect(document.body.textContent).toContain('No run matches')
})
