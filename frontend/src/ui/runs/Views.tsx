/** Saved views: lists of runs under a name, shared by all who use the service. */
import { useSignal } from '@preact/signals'
import { change, get } from '../../api/client'
import type { View } from '../../api/schema'
import { asSentence } from '../../format'
import { navigate, route, withQuery } from '../../router'
import { chosen } from '../../store/chosen'
import { service } from '../../store/connection'
import { may, mayAnywhere } from '../../store/may'
import { show } from '../../store/notice'
import type { Resource } from '../../store/resource'
import { views as say } from '../../text/lists'
import { banner } from '../../text/shared'
import { Button } from '../parts/Button'
import { Choices } from '../parts/Choice'
import { FormDialog, refusalOf } from '../parts/Dialog'
import { Field } from '../parts/fields'
import { useAnswer } from '../parts/stores'
import { WhyNot } from '../parts/WhyNot'
import './Views.css'

const PATH = '/api/v1/views'
const at = (view: View) => `${PATH}/${encodeURIComponent(view.view_id)}`

export function Views({ close }: { close(): void }) {
  const { query } = route.value
  const views = useAnswer(stop => get(PATH, {}, stop), [], { topics: ['runs'] })
  /** `null`: none; else what is named: a new view, or this one. */
  const naming = useSignal<View | 'new' | null>(null)
  const here = addressed(query)
  const trouble = views.trouble.value
  return (
    <>
      {query.get('deleted') !== 'true' && (
        <Choices
          small
          label={say.group}
          value={query.get('group') === 'job' ? 'job' : 'run'}
          options={[
            ['run', say.runs],
            ['job', say.byJob],
          ]}
          // What runs are sorted by is not always what jobs are.
          onChoose={what => navigate(`/${withQuery({ group: what === 'job' ? what : null, sort: null })}`)}
        />
      )}
      {trouble && <p class="missing">{banner.trouble(say.what)}</p>}
      {views.value?.length === 0 && <p class="detail views-none">{say.none}</p>}
      <ul class="views">
        {views.value?.map(view => (
          <li key={view.view_id} class="row">
            <a
              href={`/?${view.query}`}
              aria-current={view.query === here}
              onClick={close}
              class="cut"
              title={view.name}
            >
              {view.name}
              {view.project !== null && service.value?.project === null && (
                <span class="detail"> {view.project}</span>
              )}
            </a>
            {may('edit', view.project) && (
              <Changes view={view} here={here} views={views} onRename={() => (naming.value = view)} />
            )}
          </li>
        ))}
      </ul>
      {mayAnywhere('edit') ? (
        <Button kind="small" onClick={() => (naming.value = 'new')}>
          {say.save}
        </Button>
      ) : (
        <WhyNot />
      )}
      {naming.value && (
        <NameDialog
          view={naming.value === 'new' ? null : naming.value}
          here={here}
          views={views}
          onClose={() => (naming.value = null)}
        />
      )}
    </>
  )
}

/** What the address of the list says, with the columns that the browser remembers. */
function addressed(query: URLSearchParams): string {
  const columns = query.get('columns') ?? chosen.value?.join() ?? null
  return withQuery({ columns }, query).slice(1)
}

interface ChangesProps {
  view: View
  here: string
  views: Resource<View[]>
  onRename(): void
}

function Changes({ view, here, views, onRename }: ChangesProps) {
  const doing = async (act: () => Promise<void>, said: string): Promise<void> => {
    try {
      await act()
      show(said)
    } catch (error) {
      show(asSentence(refusalOf(error)))
    }
    await views.read()
  }
  return (
    <details class="view-changes">
      <summary class="button plain" aria-label={say.more(view.name)}>
        ⋯
      </summary>
      <Button kind="small" onClick={onRename}>
        {say.rename}
      </Button>
      {view.query !== here && (
        <Button
          kind="small"
          onClick={() => void doing(() => change('PATCH', at(view), { query: here }), say.updated(view.name))}
        >
          {say.update}
        </Button>
      )}
      <Button
        kind="small"
        onClick={() => void doing(() => change('DELETE', at(view)), say.deleted(view.name))}
      >
        {say.delete}
      </Button>
    </details>
  )
}

interface NameProps {
  /** `null`: a new one is saved. */
  view: View | null
  here: string
  views: Resource<View[]>
  onClose(): void
}

/** Who may not save views of all projects saves one of the project that the list is of; else the service chooses. */
function projectOf(here: string): string | null {
  const project = new URLSearchParams(here).get('project')
  return !may('edit', null) && may('edit', project) ? project : null
}

function NameDialog({ view, here, views, onClose }: NameProps) {
  async function save(form: FormData): Promise<void> {
    const name = String(form.get('name')).trim()
    if (view) await change('PATCH', at(view), { name })
    else await change('POST', PATH, { name, query: here, project: projectOf(here) })
    await views.read()
    show(say.saved(name))
  }
  return (
    <FormDialog title={view ? say.renameTitle(view.name) : say.saveTitle} onSave={save} onClose={onClose}>
      {!view && <p class="detail">{say.saveDetail}</p>}
      <Field label={say.name} name="name" required maxLength={100} defaultValue={view?.name ?? ''} />
    </FormDialog>
  )
}
