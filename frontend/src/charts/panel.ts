/** What a panel over run time shows: values and words, no pixels. */
import type { Palette } from './palette'

type Colour = Exclude<keyof Palette, 'hatch'>

export interface Layer {
  values: readonly (number | null)[]
  stroke: Colour
  /** From this layer down to the next one, or to zero for the last. */
  fill: keyof Palette | null
  /** Written at the height of the layer's middle (stacked) or of its value (a line), beside its end. */
  label: string | null
  labelColour: Colour
  /** A second quantity in the same panel is told apart without its colour, too. */
  isDashed?: boolean
}

export interface Mark {
  atS: number
  label: string
  /** Something that happened, and not the beginning of an epoch: solid, and named first where names would collide. */
  isEvent?: boolean
}

export interface TimePanel {
  height: number
  fromS: number
  toS: number
  atS: readonly number[]
  /** Stacked ones from the top downwards, each holding the sum of itself and what lies below. */
  layers: readonly Layer[]
  /** Lines over one another, each named at its own last value, instead of a stack. */
  isOverlaid?: boolean
  top: number
  /** Said where values lie above `top`. */
  topLabel: string | null
  tick(value: number, largest: number): string
  /** Where the value axis has ticks; `null`: where it suits. */
  ticks: readonly number[] | null
  hasTimeLabels: boolean
  startLabel: string
  /** What stands at a time tick; left out: the time since the run's start. */
  timeTick?: (atS: number) => string
  marks: readonly Mark[]
}
