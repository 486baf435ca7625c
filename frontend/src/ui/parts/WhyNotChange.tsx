/** In the place of buttons that change runs, where anybody on the machine may read: why they are not here, and how to get them. */
import { askForOwner, service } from '../../store/connection'
import { frame, signInPage } from '../../text/frame'
import { Button } from './Button'

export function WhyNotChange() {
  if (service.value?.token_required !== false) return null
  return (
    <Button kind="small" title={signInPage.leadOfOwner} onClick={() => askForOwner(true)}>
      {frame.signIn}
    </Button>
  )
}
