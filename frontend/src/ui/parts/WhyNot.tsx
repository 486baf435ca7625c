/** In the place of buttons that the caller may not use: why they are not here, and how to get them. */
import { askForOwner, service } from '../../store/connection'
import type { Power } from '../../store/may'
import { frame, scopes as say, signInPage } from '../../text/frame'
import { Button } from './Button'

export function WhyNot({ power = 'edit' }: { power?: Power }) {
  const info = service.value
  if (info === null) return null
  if (info.token_required)
    return (
      <span class="detail" title={say.whyNot[power]}>
        {say.not[power]}
      </span>
    )
  return (
    <Button kind="small" title={signInPage.leadOfOwner} onClick={() => askForOwner(true)}>
      {frame.signIn}
    </Button>
  )
}
