import type { StateName } from "../run/status.ts"
import { Icon } from "./icon.tsx"

export const stateWords: Readonly<Record<StateName, string>> = {
  waiting: "waiting",
  running: "running",
  completed: "done",
  cached: "cached",
  retried: "retried",
  failed: "failed",
  cancelled: "cancelled",
}

/** A state as colour, icon and word. */
export function StateMark({ state, text }: { readonly state: StateName; readonly text?: string }) {
  return (
    <span class={`state is-${state}`}>
      <Icon name={state} />
      {text ?? stateWords[state]}
    </span>
  )
}
