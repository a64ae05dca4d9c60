import { watchShown } from "../state/runs.ts"
import { limitFacts } from "../ui/limit-words.ts"

/** The limits of the shown run, and how much of each is used. */
export function RunLimits() {
  const limits = watchShown()?.state.limits ?? null
  if (limits === null) return null
  return (
    <ul class="run-limits" aria-label="Limits of this run">
      {limitFacts(limits).map(({ name, text, share }) => (
        <li key={name} class={share === 1 ? "is-used-up" : undefined}>
          <span class="limit-name">{name}</span> {text}
          <span class="limit-bar" aria-hidden="true" style={{ "--used": `${share * 100}%` }} />
        </li>
      ))}
    </ul>
  )
}
