import { follow } from "./navigation.tsx"
import { addressOf, goTo } from "./place.ts"

/** Opens a run beside the list of its workflow. */
export function RunLink({
  workflow,
  run_id,
  label = run_id,
  release,
}: {
  readonly workflow: string
  readonly run_id: string
  readonly label?: string
  readonly release?: string
}) {
  const query = new URLSearchParams({ workflow, ...(release !== undefined && { release }), run: run_id })
  return (
    <a href={addressOf("runs", query)} onClick={(event) => follow(event, () => goTo("runs", query))}>
      {label}
    </a>
  )
}
