import type { ComponentChildren } from "preact"
import { Icon } from "./icon.tsx"
import type { StateName } from "./state-words.ts"
import { stateWords } from "./state-words.ts"

/** A state as colour, icon and word. */
export function StateMark({ state, text }: { readonly state: StateName; readonly text?: ComponentChildren }) {
  return (
    <span class={`state is-${state}`}>
      <Icon name={state} />
      <span>{text ?? stateWords[state]}</span>
    </span>
  )
}
