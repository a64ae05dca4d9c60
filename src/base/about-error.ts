export interface AboutError {
  readonly type: string
  /** `ECONNRESET`, `ERR_INVALID_ARG_TYPE` */
  readonly code?: string
  /** Where it was made, a line for each call. */
  readonly stack?: string
  readonly cause?: AboutError
}

/**
 * What may be logged of an error whose origin is unknown: never its message, which may quote a secret or anything else that
 * was being worked on.
 */
export function aboutError(error: unknown, depth = 0): AboutError {
  if (!(error instanceof Error)) return { type: typeof error }
  const code = "code" in error ? error.code : undefined
  const stack = framesOf(error)
  return {
    type: safeWord(error.name) ?? "Error",
    ...(typeof code === "string" && safeWord(code) !== null ? { code } : {}),
    ...(stack === "" ? {} : { stack }),
    ...(error.cause instanceof Error && depth < 3 ? { cause: aboutError(error.cause, depth + 1) } : {}),
  }
}

function safeWord(text: string): string | null {
  return /^\w{1,60}$/.test(text) ? text : null
}

/** The calls at the end of a stack; the message before them may have lines that look like calls. */
function framesOf({ stack = "", message }: Error): string {
  const from = message === "" ? 0 : stack.indexOf(message)
  const lines = stack.slice(from < 0 ? 0 : from + message.length).split("\n")
  const firstFrame = lines.findLastIndex((line) => !/^ {4}at /.test(line)) + 1
  return lines.slice(firstFrame).join("\n")
}
