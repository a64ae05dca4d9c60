import { Part } from "./part.tsx"
import type { StateName } from "../ui/state-words.ts"

interface ConditionProps {
  readonly when: string | undefined
  readonly state: StateName
  /** It has run, and failed for good. */
  readonly failed: boolean
}

/** The condition of a step, and why it was skipped. */
export function Condition({ when, state, failed }: ConditionProps) {
  return (
    <>
      {when === undefined ? null : (
        <Part title="Condition">
          <code class="wraps">{when}</code>
        </Part>
      )}
      {state !== "skipped" ? null : (
        <p class="hint-text">
          {failed ? (
            <>
              It failed, and <code>on_failure: skip</code> lets the run go on.
            </>
          ) : (
            "The condition was false, so it did not run."
          )}
        </p>
      )}
    </>
  )
}
