import type { Miss } from "./run-once.ts"
import { showLines, sortedJson } from "./show-difference.ts"

/** Lines of a request that has nothing like it in the recording. */
const maxLines = 12

export const remedies = {
  test: "Run `wire test --record` to ask for it, or give the step a result.",
  run: "Run it with --record to ask for it.",
}

/** Why an exchange was not found: how it differs from the nearest one that was recorded. */
export function showMiss({ request, nearest }: Miss, remedy = remedies.test): string[] {
  const asked = sortedJson(request).split("\n")
  if (nearest === null) {
    const shown = asked.slice(0, maxLines)
    return ["Nothing like it is recorded:", ...shown, ...(asked.length > maxLines ? ["…"] : []), remedy]
  }
  const recorded = sortedJson(nearest).split("\n")
  if (recorded.join("\n") === asked.join("\n")) {
    return ["The same request is recorded, but not the answer to this asking.", remedy]
  }
  return ["The nearest recorded request differs (- recorded, + asked):", ...showLines(recorded, asked), remedy]
}
