/** The service asks for a token; with it the browser gets a cookie and goes on where it was. */
import { useSignal } from '@preact/signals'
import { signIn } from '../api/client'
import { asked, askForOwner, readService, retryNow, service } from '../store/connection'
import { signInPage } from '../text/frame'
import { Button } from '../ui/parts/Button'
import { Snippet } from '../ui/parts/CopyButton'
import { refusalOf } from '../ui/parts/Dialog'
import { usePage } from '../ui/parts/page'
import './SignInPage.css'

export function SignInPage() {
  const token = useSignal('')
  const refusal = useSignal<string | null>(null)
  const isOpen = service.value?.token_required === false
  usePage(signInPage.title, {})

  async function submit(event: Event): Promise<void> {
    event.preventDefault()
    refusal.value = null
    try {
      await signIn(token.value.trim())
      await asked(readService())
      retryNow()
    } catch (error) {
      refusal.value = refusalOf(error)
    }
  }
  return (
    <form class="empty sign-in" onSubmit={event => void submit(event)}>
      <h1>{signInPage.title}</h1>
      <p>{isOpen ? signInPage.leadOfOwner : signInPage.lead}</p>
      {!isOpen && <Snippet code={signInPage.command} />}
      <label class="quiet">
        {signInPage.label}
        <input
          type="password"
          class="field framed"
          autocomplete="current-password"
          required
          value={token.value}
          aria-invalid={refusal.value !== null}
          aria-describedby="refusal"
          onInput={event => (token.value = event.currentTarget.value)}
        />
      </label>
      <p id="refusal" class="refusal firm" role="alert">
        {refusal.value}
      </p>
      <div class="row">
        <Button type="submit" kind="primary">
          {signInPage.button}
        </Button>
        {isOpen && <Button onClick={() => askForOwner(false)}>{signInPage.cancel}</Button>}
      </div>
    </form>
  )
}
