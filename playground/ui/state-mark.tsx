import { Icon } from "./icon.tsx"

/** The states that have a colour, an icon and a word. */
export type StateName =
  | "waiting"
  | "running"
  | "asking"
  | "completed"
  | "cached"
  | "retried"
  | "failed"
  | "cancelled"
  | "skipped"

export const stateWords: Readonly<Record<StateName, string>> = {
  waiting: "waiting",
  running: "running",
  asking: "asking",
  completed: "done",
  cached: "cached",
  retried: "retried",
  failed: "failed",
  cancelled: "cancelled",
  skipped: "skipped",
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
