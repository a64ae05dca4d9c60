import type { JsonValue } from "../../base/json-value.ts"
import type { Message } from "../../log/messages.ts"
import { failure } from "../../ports/run-failure.ts"
import { holdsFile } from "../../types/holds-file.ts"
import type { GivenFile } from "../../types/file-value.ts"
import type { Type } from "../../types/types.ts"
import { callStored, type RunContext } from "./run-context.ts"
import { mapFiles } from "../files/map-files.ts"
import { fileValue, noFiles, ownFile } from "../files/run-files.ts"
import { storedFilesIn } from "../files/stored-files-in.ts"

/** A result that another run, a cache or the caller of a re-run leaves to a step. */
export interface LeftResult {
  /** `agent.review`, `tool.render`. */
  readonly step: string
  readonly type: Type
  readonly value: JsonValue
  /** What was said until then, where the step goes on with it. */
  readonly history?: readonly Message[] | null
}

/**
 * Has the run refer to the files of a result that it takes over, so that they stay as long as the run does. Resolves to the result with what is known of them, and to
 * undefined where one of them is gone: then the step must run itself. Null for a result without files.
 */
export function adoptFiles(running: RunContext, left: LeftResult): Promise<JsonValue | undefined> | null {
  const said = left.history === null || left.history === undefined ? [] : [...storedFilesIn(left.history).keys()]
  const holds = holdsFile(left.type, running.plan.types)
  return holds || said.length > 0 ? adopt(running, left, said, holds) : null
}

async function adopt(
  running: RunContext,
  { step, type, value }: LeftResult,
  said: readonly string[],
  holds: boolean,
): Promise<JsonValue | undefined> {
  const { plan, ports, caller, runId, scope } = running
  if (ports.files === undefined) throw failure("evaluation_error", step, noFiles)
  const { files } = ports.files
  const found = new Set<string>()
  let isWhole = true
  const one = async (given: GivenFile): Promise<JsonValue> => {
    const file_id = given.kind === "id" ? given.file_id : given.kind === "value" ? given.file.file_id : null
    const file = file_id === null ? null : await ownFile(files, caller, file_id)
    if (file === null) {
      isWhole = false
      return null
    }
    found.add(file.file_id)
    return fileValue(file)
  }
  const adopted = holds ? await mapFiles(value, type, plan.types, step, one) : value
  if (!isWhole) return undefined
  const here = scope === null ? step : `${scope}/${step}`
  const used = await callStored(running, async () => {
    const areMade = found.size === 0 || (await files.store.use(runId, caller, [...found], here))
    return areMade && (said.length === 0 || (await files.store.use(runId, caller, said, null)))
  })
  return used ? adopted : undefined
}
