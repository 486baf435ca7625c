/** Adds a channel: what kind it is, and where messages go. */
import { useSignal } from '@preact/signals'
import type { ChannelMade } from '../../api/schema'
import { addChannel } from '../../store/alerts'
import { service } from '../../store/connection'
import { alerts as say } from '../../text/alerts'
import { text } from '../../text/shared'
import { Button } from '../parts/Button'
import { Snippet } from '../parts/CopyButton'
import { Dialog, FormDialog } from '../parts/Dialog'
import { Field, SelectField } from '../parts/fields'
import { ProjectField } from './ProjectField'

type Kind = ChannelMade['kind']
const KINDS = Object.entries(say.kinds) as readonly [Kind, string][]

interface ChannelProps {
  sendsEmail: boolean
  onAdded(made: ChannelMade): void
  onClose(): void
}

export function ChannelDialog({ sendsEmail, onAdded, onClose }: ChannelProps) {
  const kind = useSignal<Kind>('slack')
  const words = say.newChannel
  const isMail = kind.value === 'email'
  return (
    <FormDialog
      title={words.title}
      save={text.add}
      canSave={!isMail || sendsEmail}
      trouble={isMail && !sendsEmail ? words.noMail : null}
      onSave={async form => {
        const given = (name: string) => String(form.get(name) ?? '').trim()
        const recipients = given('to')
          .split(',')
          .map(each => each.trim())
        const where = isMail ? { to: recipients.filter(Boolean) } : { to: [], url: given('url') }
        onAdded(
          await addChannel({
            name: given('name'),
            kind: kind.value,
            project: given('project') || null,
            ...where,
          }),
        )
      }}
      onClose={onClose}
    >
      <SelectField
        label={words.kind}
        options={KINDS}
        value={kind.value}
        onChange={event => (kind.value = event.currentTarget.value as Kind)}
      />
      <Field label={words.name} name="name" required maxLength={100} autocomplete="off" />
      {isMail ? (
        <Field key="to" label={words.to} name="to" required disabled={!sendsEmail} autocomplete="off" />
      ) : (
        <Field
          key="url"
          label={words.url}
          type="url"
          name="url"
          required
          maxLength={2_000}
          placeholder="https://"
          autocomplete="off"
          spellcheck={false}
        >
          <small>{words.urlDetail[kind.value as 'webhook' | 'slack']}</small>
        </Field>
      )}
      {service.value?.project === null && <ProjectField label={words.project} />}
    </FormDialog>
  )
}

/** What a webhook's receiver checks signatures with: the service shows it once. */
export function SecretDialog({ made, onClose }: { made: ChannelMade; onClose(): void }) {
  return (
    <Dialog title={say.secret.title(made.name)} onClose={onClose}>
      {close => (
        <>
          <p class="detail">{say.secret.lead}</p>
          <Snippet code={made.secret ?? ''} />
          <p class="dialog-actions row">
            <Button kind="primary" onClick={close}>
              {text.close}
            </Button>
          </p>
        </>
      )}
    </Dialog>
  )
}
