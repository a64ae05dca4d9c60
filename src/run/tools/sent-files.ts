import type { JsonObject, JsonValue } from "../../base/json-value.ts"
import { stepInlineBytes, toolFileBytes } from "../../base/limits.ts"
import { setOwn } from "../../base/ordered-object.ts"
import { rewriteJson } from "../../base/rewrite-json.ts"
import type { ToolPlan } from "../../plan/plan-shape.ts"
import { failure } from "../../ports/run-failure.ts"
import { isFileValue } from "../../types/file-value.ts"
import type { RunContext } from "../context/run-context.ts"
import { noFiles, ownFile } from "../files/run-files.ts"

/**
 * Arguments with the contents of their files, as they are sent: to an MCP server as a data URL, to an API as a file that is given by its data. The same values where there are
 * none. Files are arguments of their own, or lists of them.
 */
export function withSentFiles(
  running: RunContext,
  tool: ToolPlan,
  values: JsonObject,
  path: string,
): JsonObject | Promise<JsonObject> {
  return Object.values(values).some(isFileOrFiles) ? filled(running, tool, values, path) : values
}

async function filled(running: RunContext, tool: ToolPlan, values: JsonObject, path: string): Promise<JsonObject> {
  const { ports, caller, work } = running
  if (ports.files === undefined) throw failure("evaluation_error", path, noFiles)
  const { files } = ports.files
  const most = tool.http === undefined ? toolFileBytes : stepInlineBytes
  let sum = 0
  const one = async (value: JsonValue): Promise<JsonValue> => {
    if (!isFileValue(value)) return value
    const file = await ownFile(files, caller, value.file_id)
    if (file === null) throw failure("evaluation_error", path, `The file ${value.file_id} is gone`)
    sum += file.bytes
    if (sum > most) {
      const message = `The files of a call have more than ${most / 1024 / 1024} MiB, which is the most that ${tool.http === undefined ? "an MCP server" : "an API"} is sent`
      throw failure("limit_exceeded", path, message)
    }
    const data = (await files.readAll(file)).toString("base64")
    work.received(data.length)
    const { media_type, name } = file
    return tool.http === undefined ? `data:${media_type};base64,${data}` : { data, media_type, name }
  }
  const sent: JsonObject = {}
  for (const [name, value] of Object.entries(values)) {
    const made: JsonValue[] = []
    if (!isFileOrFiles(value)) setOwn(sent, name, value)
    else if (!Array.isArray(value)) setOwn(sent, name, await one(value))
    else {
      for (const item of value) made.push(await one(item))
      setOwn(sent, name, made)
    }
  }
  return sent
}

export function isFileOrFiles(value: JsonValue): boolean {
  return isFileValue(value) || (Array.isArray(value) && value.some(isFileValue))
}

/** Values in which a file stands for its contents, and not for the id that it has. */
export function argumentsByContent(values: JsonObject): JsonObject {
  if (!Object.values(values).some(isFileOrFiles)) return values
  return rewriteJson(values, (value) => {
    if (!isFileValue(value)) return undefined
    const { name, media_type, sha256 } = value
    return { name, media_type, sha256 }
  }) as JsonObject
}
