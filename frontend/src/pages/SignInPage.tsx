/** The service asks for a token; with it the browser gets a cookie and goes on where it was. */
import { useSignal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import { NoAnswer, ServiceError, signIn } from '../api/client'
import { asked, readService, retryNow } from '../store/connection'
import { signInPage, text } from '../text'

export function SignInPage() {
  const token = useSignal('')
  const refusal = useSignal<string | null>(null)
  useEffect(() => {
    document.title = `${signInPage.title} · ${text.product}`
  }, [])

  async function submit(event: Event): Promise<void> {
    event.preventDefault()
    refusal.value = null
    try {
      await signIn(token.value.trim())
      await asked(readService())
      retryNow()
    } catch (error) {
      if (!(error instanceof ServiceError || error instanceof NoAnswer)) throw error
      refusal.value = error.message
    }
  }
  return (
    <form class="empty sign-in" onSubmit={event => void submit(event)}>
      <h1>{signInPage.title}</h1>
      <p>{signInPage.lead}</p>
      <label>
        {signInPage.label}
        <input
          type="password"
          autocomplete="current-password"
          required
          value={token.value}
          aria-invalid={refusal.value !== null}
          aria-describedby="refusal"
          onInput={event => (token.value = event.currentTarget.value)}
        />
      </label>
      <p id="refusal" class="refusal" role="alert">
        {refusal.value}
      </p>
      <button type="submit" class="button primary">
        {signInPage.button}
      </button>
    </form>
  )
}
