// @vitest-environment happy-dom
import { cleanup, fireEvent, render, screen } from '@testing-library/preact'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import type { Hotspot, HotspotsPage } from '../../src/api/schema'
import { ROW } from '../../src/charts/flame/draw'
import { navigate } from '../../src/router'
import type { Still } from '../../src/store/run'
import { HotspotsPanel } from '../../src/ui/run/hotspots/HotspotsPanel'
import { type Recording, recordCanvas } from '../charts/recording'
import { hotspotsPage, run } from '../made'

class NoStream {
  addEventListener(): void {}
  close(): void {}
}

let asked: string[]
let page: HotspotsPage
let drawn: readonly Recording[]

beforeEach(() => {
  asked = []
  page = hotspotsPage()
  drawn = recordCanvas()
  vi.spyOn(HTMLElement.prototype, 'clientWidth', 'get').mockReturnValue(1_000)
  vi.stubGlobal('EventSource', NoStream)
  vi.stubGlobal('fetch', (url: string) => {
    asked.push(url)
    const of = new URLSearchParams(url.split('?')[1]).get('of')
    return Promise.resolve(new Response(JSON.stringify({ ...page, of })))
  })
})
afterEach(() => {
  cleanup()
  vi.unstubAllGlobals()
  navigate('/', 'replace')
})

const seen = () => (document.body.textContent ?? '').replace(/\s+/g, ' ')

async function show(changes: Partial<HotspotsPage> = {}, still: Partial<Still> = {}) {
  page = hotspotsPage(changes)
  const shown = render(<HotspotsPanel run={run(still as never)} loader={null} rank={null} />)
  await screen.findByRole('heading', { name: /spends its time/ })
  if (page.hotspots.length > 0) await vi.waitFor(() => expect(drawn[0]?.marks.length).toBeGreaterThan(0))
  return shown
}

const names = () => [...document.querySelectorAll('.hotspot-name')].map(one => one.textContent)
const tree = () => screen.getByRole('tree')
const press = (key: string) => fireEvent.keyDown(tree(), { key })
const here = () => screen.getByRole('treeitem')

describe('where loading spends its time', () => {
  test('folded, it names the two lines that take most', async () => {
    render(<HotspotsPanel run={run()} loader={null} rank={null} isFolded />)
    await vi.waitFor(() =>
      expect(document.querySelector('.folded > summary')?.textContent).toBe(
        'Where loading spends its time60% Image.resize, 20% Image.open',
      ),
    )
  })
  test('is a list of the program’s lines, each with what takes the time there', async () => {
    await show()
    expect(seen()).toContain('Where loading spends its timetrain, 1,000 looks')
    expect([...document.querySelectorAll('.hotspots tbody tr')].map(row => row.textContent)).toEqual([
      expect.stringMatching(/^Image\.resize.*photos\.py:10in Photos\.__getitem__getitem60%± 3$/),
      expect.stringMatching(/^Image\.open.*photos\.py:10in Photos\.__getitem__getitem20%± 3$/),
      expect.stringMatching(/^default_collate.*default_collate\.py:13collate13%± 3$/),
    ])
    expect(
      screen.getByRole('button', { name: /^Find Image\.resize, in Photos\.__getitem__, your code/ }),
    ).toBeTruthy()
  })

  test('says below the lines which of them take another share by now', async () => {
    const change = 'That changed on the way: loads at data.py:20, in Halves took 0% at first, and 40% since.'
    await show({ change })
    expect(document.querySelector('.hotspots')?.closest('section')?.textContent).toContain(change)
  })

  test('says below the lines where any of the first may be the largest', async () => {
    const order = 'Either of the first two may be the larger: by their margins they cannot be told apart.'
    await show({ order })
    expect(document.querySelector('.hotspots')?.closest('section')?.textContent).toContain(order)
  })

  test('is a list of functions, each with line, stage, shares and what chance may add', async () => {
    await show()
    fireEvent.click(screen.getByRole('button', { name: 'Self' }))
    expect(names()).toEqual(['Image.resize', 'Image.open', 'default_collate', 'Photos.__getitem__'])
    const [first] = document.querySelectorAll('.hotspots tbody tr')
    expect(first?.textContent).toMatch(/Image\.resize.*image\.py:11getitem60%± 360%± 3/)
    expect(first?.querySelector('.hotspot-share')?.getAttribute('title')).toBe('seen in 600 looks')
  })

  test('is ordered by what a function does itself, or by what it calls too', async () => {
    await show()
    fireEvent.click(screen.getByRole('button', { name: 'Total' }))
    expect(names()[0]).toBe('Photos.__getitem__')
    fireEvent.click(screen.getByRole('button', { name: 'Self' }))
    expect(names()[0]).toBe('Image.resize')
  })

  test('shows the first of many, and all when asked', async () => {
    const hotspots = Array.from({ length: 30 }, (_, index) => ({
      ...{
        function: `f${index}`,
        file: 'a/very/long/way/down/data.py',
        line: index,
        stage: 'getitem' as const,
      },
      ...{ self_fraction: (30 - index) / 1_000, total_fraction: 0.5, is_own: false, callers: [] },
    }))
    await show({ hotspots, hot_lines: [] })
    expect(names()).toHaveLength(5)
    fireEvent.click(screen.getByRole('button', { name: 'Show all 30' }))
    expect(names()).toHaveLength(30)
    fireEvent.click(screen.getByRole('button', { name: 'Show fewer' }))
    expect(names()).toHaveLength(5)
  })

  test('breaks a line, or a function, up by the places that call it', async () => {
    const { hotspots, hot_lines: lines } = hotspotsPage()
    const callers = [
      {
        function: 'decode',
        file: 'train.py',
        line: 15,
        fraction: 0.4,
        margin_fraction: 0.092,
        sentence: 'decode at train.py:15',
      },
      {
        function: 'augment',
        file: 'train.py',
        line: 20,
        fraction: 0.2,
        margin_fraction: null,
        sentence: 'augment at train.py:20',
      },
    ]
    const rows = () =>
      [...document.querySelectorAll('.hotspots tbody tr')].slice(0, 4).map(row => row.textContent)
    await show({
      hot_lines: lines.map((line, place) => (place === 0 ? { ...line, callers } : line)),
      hotspots: hotspots.map(one => (one.function === 'Image.resize' ? { ...one, callers } : one)),
    })
    const broken = [
      expect.stringMatching(/^Image\.resize/),
      expect.stringMatching(/^through decodetrain\.py:1540%± 9$/),
      expect.stringMatching(/^through augmenttrain\.py:2020%$/),
      expect.stringMatching(/^Image\.open/),
    ]
    expect(rows()).toEqual(broken)
    fireEvent.click(screen.getByRole('button', { name: 'Self' }))
    expect(rows()).toEqual(broken)
    fireEvent.click(screen.getByRole('button', { name: 'Total' }))
    expect(rows().join()).not.toContain('through')
  })

  test('says of which loading the sampler is no part', async () => {
    const sentence = 'Nor is the sampler'
    await show({ has_step: false })
    expect(seen()).toContain(sentence)
    cleanup()
    await show({ has_step: true })
    expect(seen()).not.toContain(sentence)
  })

  test('lines that cannot be distinguished stand together', async () => {
    const lines = hotspotsPage().hot_lines.map(line => ({ ...line, lines: [38, 41] as [number, number] }))
    await show({ hot_lines: lines.slice(0, 1) })
    expect(screen.getByText('photos.py:38–41')).toBeTruthy()
    expect(screen.getByText('or what precedes it, in Photos.__getitem__')).toBeTruthy()
  })

  test('names no stage of a line that is seen in several', async () => {
    const { hotspots } = hotspotsPage()
    const both = hotspots.map(one => ({ ...one, file: 'photos.py', line: 10 }))
    await show({ hotspots: both, hot_lines: hotspotsPage().hot_lines.slice(0, 1) })
    const [first] = document.querySelectorAll('.hotspots tbody tr')
    expect(first?.textContent).not.toMatch(/getitem(?!__)|collate/)
  })

  test('distinguishes the reader’s own code from that of packages', async () => {
    await show({ hot_lines: [] })
    const own = screen.getAllByRole('button', { name: /your code/ })
    expect(own.map(({ title, className }) => [title, className])).toEqual([
      ['Photos.__getitem__, your code', 'hotspot-name cut strong'],
    ])
  })

  test('has the whole of a long name and path in reach', async () => {
    const name = `Very${'Long'.repeat(60)}.method`
    const file = `${'deep/'.repeat(50)}data.py`
    const [hotspot] = hotspotsPage().hotspots as [Hotspot]
    await show({ hotspots: [{ ...hotspot, function: name, file, line: 3, is_own: false }], hot_lines: [] })
    expect(screen.getByRole('button', { name: new RegExp(`^Find ${name}`) }).title).toBe(name)
    expect(document.querySelector('.code-place')?.getAttribute('title')).toBe(`${file}:3`)
  })

  test('is exported as collapsed stacks and for speedscope', async () => {
    await show()
    fireEvent.click(screen.getByRole('button', { name: 'Export: the stacks' }))
    const hrefs = [...document.querySelectorAll('.menu a')].map(one => one.getAttribute('href'))
    expect(hrefs).toEqual([
      '/api/v1/runs/run-1/export?format=collapsed',
      '/api/v1/runs/run-1/export?format=speedscope',
    ])
  })

  test('is asked for the chosen loader and rank, and again when another is chosen', async () => {
    const { rerender } = await show()
    expect(asked).toEqual(['/api/v1/runs/run-1/hotspots?of=loading'])
    page = hotspotsPage({ loader: 'val', rank: 2 })
    rerender(<HotspotsPanel run={run({ ranks: [0, 1, 2] })} loader="val" rank={2} />)
    await screen.findByText(/^val, rank 2/)
    expect(asked.at(-1)).toBe('/api/v1/runs/run-1/hotspots?loader=val&rank=2&of=loading')
    expect(asked).toHaveLength(2)
  })

  test('of a profiled run is followed by what the training thread does between batches', async () => {
    await show({ has_step: true })
    fireEvent.click(screen.getByRole('button', { name: 'Between batches' }))
    await screen.findByRole('heading', { name: 'Where the training thread spends its time' })
    expect(asked.at(-1)).toContain('of=step')
    expect(tree().getAttribute('aria-label')).toMatch(/^Flame graph of the time between batches/)
  })
})

describe('the flame graph', () => {
  test('is walked through by the arrow keys, and says where the reader is', async () => {
    await show()
    expect(here().textContent).toBe('All of loading · 1,000 looks')
    expect(tree().getAttribute('aria-activedescendant')).toBe(here().id)
    expect(tree().tabIndex).toBe(0)
    press('ArrowDown')
    expect(here().textContent).toBe('getitem: the data set · 85% of loading')
    press('ArrowDown')
    press('ArrowDown')
    expect(here().textContent).toBe('Image.resize · image.py:11 · 60% of loading · 60% in itself')
    const place = ['aria-level', 'aria-posinset', 'aria-setsize', 'aria-expanded']
    expect(place.map(name => here().getAttribute(name))).toEqual(['4', '1', '2', null])
    press('ArrowRight')
    expect(here().textContent).toMatch(/^Image\.open/)
    press('ArrowUp')
    expect(here().textContent).toMatch(/^Photos\.__getitem__/)
    expect(here().getAttribute('aria-expanded')).toBe('true')
  })

  test('is zoomed by Enter and left by Escape: the zoom, then the search, then the graph', async () => {
    await show()
    tree().focus()
    const search = screen.getByRole('searchbox')
    fireEvent.input(search, { target: { value: 'image' } })
    for (const key of ['ArrowDown', 'End', 'Enter']) press(key)
    expect(drawn[0]?.texts()).not.toContain('Image.resize')
    expect(screen.getByRole('button', { name: 'All of loading' })).toBeTruthy()
    press('Escape')
    expect(drawn[0]?.texts()).toContain('Image.resize')
    expect(here().textContent).toMatch(/^other/)
    expect(search).toHaveProperty('value', 'image')
    press('Escape')
    expect(search).toHaveProperty('value', '')
    expect(document.activeElement).toBe(tree())
    press('Escape')
    expect(document.activeElement).toBe(document.body)
  })

  test('says what is not seen', async () => {
    await show()
    expect(seen()).toContain('threads within C code')
    expect(seen()).not.toContain('Underfed itself')
  })

  test('says what the agent itself took where it is a hundredth of all looks', async () => {
    await show({ agent_fraction: 0.017 })
    expect(seen()).toContain('1.7% of all looks found Underfed itself')
  })

  test('leaves other keys to the page', async () => {
    await show()
    expect(fireEvent.keyDown(tree(), { key: 'j' })).toBe(true)
    expect(fireEvent.keyDown(tree(), { key: 'ArrowDown', ctrlKey: true })).toBe(true)
    expect(fireEvent.keyDown(tree(), { key: 'ArrowUp' })).toBe(false)
    expect(here().textContent).toMatch(/^All of loading/)
  })

  test('is zoomed by a press, and goes on from there by keys', async () => {
    await show()
    const canvas = document.querySelector('.flame canvas') as HTMLCanvasElement
    const pointer = (name: string, offsetX = 0, offsetY = 0) =>
      fireEvent(canvas, Object.assign(new Event(name, { bubbles: true }), { offsetX, offsetY }))
    pointer('click', 300, 3 * ROW + 5)
    expect(here().textContent).toMatch(/^Image\.resize/)
    expect(document.activeElement).toBe(tree())
    expect(drawn[0]?.texts()).not.toContain('default_collate')
    pointer('pointermove', 10, 5)
    expect(seen()).toContain('All of loading · 1,000 looks')
    pointer('pointerleave')
    press('ArrowUp')
    expect(here().textContent).toMatch(/^Photos/)
  })

  test('finds a function of the list', async () => {
    await show()
    const button = screen.getByRole('button', { name: /Find Image\.open/ })
    fireEvent.click(button)
    expect(screen.getByRole('searchbox')).toHaveProperty('value', 'Image.open')
    expect(seen()).toContain('Found in 1 place: 20% of loading.')
    expect(button.getAttribute('aria-pressed')).toBe('true')
    fireEvent.click(button)
    expect(screen.getByRole('searchbox')).toHaveProperty('value', '')
  })

  test('says that a search finds nothing; Escape in the field clears it and does not leave the page', async () => {
    await show()
    const search = screen.getByRole('searchbox')
    fireEvent.input(search, { target: { value: 'nowhere' } })
    expect(seen()).toContain('Found nowhere.')
    expect(fireEvent.keyDown(search, { key: 'Escape' })).toBe(false)
    expect(search).toHaveProperty('value', '')
    expect(fireEvent.keyDown(search, { key: 'Escape' })).toBe(true)
  })

  test('is read as a table, each call below what calls it', async () => {
    await show()
    fireEvent.click(screen.getByRole('button', { name: 'As table: Flame graph' }))
    const rows = [...document.querySelectorAll('#flame tbody tr')].map(row =>
      [...row.children].map(cell => cell.textContent?.replaceAll('\u2003', '>')),
    )
    expect(rows.slice(0, 4)).toEqual([
      ['getitem', '0%', '85%', '850', '–'],
      ['>Photos.__getitem__', '5.0%', '85%', '850', 'photos.py:10'],
      ['>>Image.resize', '60%', '60%', '600', 'image.py:11'],
      ['>>Image.open', '20%', '20%', '200', 'image.py:12'],
    ])
  })
})

describe('too little to show', () => {
  const none = { samples: 0, hotspots: [], stacks: [], frames: [] }

  test('of a loader without workers names the option that samples it', async () => {
    const [loader] = run().loaders
    const loaders = [{ ...loader, settings: { num_workers: 0 } }] as Still['loaders']
    await show({ ...none, missing: 'it has no workers' }, { loaders, command: ['torchrun', 'train.py'] })
    expect(seen()).toContain('It has no workers.')
    expect(document.querySelector('pre')?.textContent).toBe('underfed run --profile -- torchrun train.py')
    expect(screen.queryByRole('tree')).toBeNull()
  })

  test('because it is switched off says so, and promises nothing', async () => {
    const why = 'switched off by UNDERFED_STACKS=0'
    await show({ ...none, missing: why }, { not_measured: { hotspots: why } })
    expect(document.querySelector('.missing')?.textContent).toBe('Switched off by UNDERFED_STACKS=0.')
  })

  test('can be exported, with what that is worth', async () => {
    await show({ ...none, samples: 14, missing: 'its loading was sampled 14 times' })
    fireEvent.click(screen.getByRole('button', { name: 'Export: the stacks' }))
    const items = [...document.querySelectorAll('.menu a')].map(one => one.textContent)
    expect(items).toEqual([
      'Collapsed stacks only 14 looks: shares say little',
      'speedscope JSON only 14 looks: shares say little',
    ])
  })

  test('of nothing that was seen is not exported', async () => {
    await show({ ...none, missing: 'it has no workers' })
    expect(screen.queryByRole('button', { name: 'Export: the stacks' })).toBeNull()
  })

  test.each([
    ['running', /shares come while it trains\.$/],
    ['finished', /The run ended before it was sampled more often\.$/],
  ] as const)('yet, in a run that is %s', async (status, said) => {
    await show({ ...none, samples: 60, missing: 'its loading was sampled 60 times' }, { status })
    expect(document.querySelector('.missing')?.textContent).toMatch(said)
  })

  test('does not hide the slowest samples', async () => {
    await show({
      ...none,
      missing: 'too few',
      slow_samples: [{ index: 7, file: null, load_us: 2e6, rank: 0 }],
    })
    expect(screen.getByRole('heading', { name: 'Slowest samples' })).toBeTruthy()
  })
})

describe('the slowest samples', () => {
  const slow = Array.from({ length: 9 }, (_, place) => ({
    ...{ index: place === 0 ? null : 18_233 + place, file: place === 0 ? null : `scans/${place}.dcm` },
    ...{ load_us: 4e6 - place * 1e5, rank: place % 2, worker: place === 0 ? null : place },
    file_bytes: place === 0 ? null : place * 2 ** 20,
  }))

  test('have index, file, size, time and worker; of several ranks the rank, too', async () => {
    await show({ slow_samples: slow, loader: 'train' }, { ranks: [0, 1] })
    const rows = [...document.querySelectorAll('#slow-samples tbody tr')].map(row =>
      [...row.children].map(cell => cell.textContent),
    )
    expect(rows).toHaveLength(4)
    expect(rows[0]).toEqual(['–', '4 s', 'main process', '0', '–', 'none seen open'])
    expect(rows[1]).toEqual(['18,234', '3.9 s', 'worker 1', '1', '1 MiB', 'scans/1.dcm'])
    fireEvent.click(screen.getByRole('button', { name: 'Show all 9' }))
    expect(document.querySelectorAll('#slow-samples tbody tr')).toHaveLength(9)
    cleanup()
    await show({ slow_samples: slow })
    expect(document.querySelectorAll('#slow-samples th[scope=col]')).toHaveLength(5)
    cleanup()
    await show({ slow_samples: slow.map(one => ({ ...one, runqueue_us: 600_000 })) })
    expect(document.querySelector('#slow-samples tbody tr')?.textContent).toContain('600 ms')
  })
})
