import { requestRerun } from "../run/request-run.ts"
import { earlierRun } from "../shown-run/changes.ts"
import type { RunView } from "../shown-run/run-view.ts"
import { lookBack, watchShown } from "../shown-run/shown-run.ts"
import { lastPlan } from "../language/source.ts"
import { Icon } from "../ui/icon.tsx"
import { counted, showDuration } from "../ui/show.ts"
import type { Scale } from "./scale.ts"

/** The moment of the run that a person looks back to, in milliseconds since its start; null at its end. */
export function momentOf(run: RunView): number | null {
  const shown = watchShown()
  return shown?.whole === run && shown.moment !== null ? shown.moment - (run.state.started_at ?? 0) : null
}

/** A run that has ended can be looked at as it was at each moment. */
export function canLookBack({ state }: RunView): boolean {
  return state.started_at !== null && state.finished_at !== null && state.finished_at > state.started_at
}

interface MomentSliderProps {
  readonly run: RunView
  readonly scale: Scale
  /** Milliseconds that the run took. */
  readonly whole: number
}

/** Drags through the time of a run: graph, details and output follow. It lies over the axis, which has the same scale. */
export function MomentSlider({ run, scale: { from, total }, whole }: MomentSliderProps) {
  const moment = momentOf(run)
  const started = run.state.started_at ?? 0
  return (
    <input
      type="range"
      class="moment-slider"
      aria-label="Moment of the run"
      aria-valuetext={moment === null ? "the end" : `after ${showDuration(moment)}`}
      title="Drag to see the run as it was at a moment"
      min={from}
      max={from + total}
      step={total > 400 ? 1 : 0.1}
      value={moment ?? whole}
      onInput={({ currentTarget: { valueAsNumber: at } }) => lookBack(run, at >= whole ? null : started + at)}
    />
  )
}

/** The steps that were not done at the moment, and are there still in the text. */
function undoneSteps(then: RunView): readonly string[] {
  const known = new Set(lastPlan.value.nodes.map(({ id }) => id))
  const isDone = (id: string): boolean => {
    const state = then.state.nodes.find((node) => node.id === id)?.state
    return state === "completed" || state === "skipped"
  }
  return (then.whole ?? then).state.nodes
    .filter(({ id, kind }) => kind !== "output" && known.has(id) && !isDone(id))
    .map(({ id }) => id)
}

/** While a person looks back: what was done by then, and a new run that goes on from there. */
export function MomentBar({ run }: { readonly run: RunView }) {
  const moment = momentOf(run)
  const then = watchShown()
  if (moment === null || then === null) return null
  const steps = undoneSteps(then)
  const all = run.state.nodes.filter(({ kind }) => kind !== "output").length
  return (
    <div class="moment-bar" role="group" aria-label="Looking back">
      <span>
        At {showDuration(moment)}: {all - steps.length} of {counted(all, "step")} done
      </span>
      <span class="moment-acts">
        {earlierRun.value === run ? (
          <button
            type="button"
            class="button outlined"
            aria-disabled={steps.length === 0}
            title="A new run beside this one: it takes over what was done by then, where it did not change, and runs the rest. Change the source or the input first to see what would have been."
            onClick={() => {
              if (steps.length > 0) requestRerun(steps)
            }}
          >
            <Icon name="play" />
            Run on from here
          </button>
        ) : null}
        <button type="button" class="button" onClick={() => lookBack(run, null)}>
          Back to the end
        </button>
      </span>
    </div>
  )
}
