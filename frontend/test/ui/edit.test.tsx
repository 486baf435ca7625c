// @vitest-environment happy-dom
import { cleanup, fireEvent, render, screen, waitFor } from '@testing-library/preact'
import { afterEach, expect, test, vi } from 'vitest'

import { EditDialog } from '../../src/ui/run/EditDialog'
import { run } from '../made'

const before = run({ name: 'vit' })

afterEach(() => {
  cleanup()
  vi.unstubAllGlobals()
})

test('what is typed stays when the run goes on and when it is refused; only what changed is sent', async () => {
  const asked: unknown[] = []
  vi.stubGlobal('fetch', (_: string, { body }: RequestInit) => {
    asked.push(JSON.parse(String(body)))
    const error = { code: 'forbidden', message: 'not today' }
    return Promise.resolve(new Response(JSON.stringify({ error }), { status: 403 }))
  })
  const { rerender } = render(<EditDialog run={before} onClose={() => {}} />)
  const name = () => screen.getByRole('textbox', { name: 'Name' }) as HTMLInputElement
  fireEvent.input(name(), { target: { value: 'vit-b16' } })
  rerender(<EditDialog run={{ ...before, steps: 7 }} onClose={() => {}} />)
  expect(name().value).toBe('vit-b16')
  fireEvent.click(screen.getByText('Save'))
  await waitFor(() => expect(screen.getByRole('alert').textContent).toBe('Not today.'))
  expect(asked).toEqual([{ name: 'vit-b16' }])
  expect(name().value).toBe('vit-b16')
})
