import type { UpstreamError } from "./upstream-failure.ts"

/** What a refusal is about, and how that is known: the error's `param` names a field, or only words of its message do. */
export type Refusal = RefusedPart & { readonly by: "param" | "words" }

export type RefusedPart =
  /** An optional field of ours; `unknown` when it is the field itself, not its value, that is not taken; `beside`: not together with this other one. */
  | { readonly about: "option"; readonly name: string; readonly unknown: boolean; readonly beside?: string }
  /** `text.format`; `schema` when it is this schema rather than the format. */
  | { readonly about: "format"; readonly schema: boolean }
  /** Tools and a format in one request. */
  | { readonly about: "both" }
  | { readonly about: "stream" }
  | { readonly about: "tool_strict" }
  | { readonly about: "reasoning" }

export interface Sent {
  /** Names of the options in the request. */
  readonly options: () => readonly string[]
  readonly format: boolean
  readonly tools: boolean
  readonly stream: boolean
  readonly reasoning: boolean
  /** Tools carry `strict`. */
  readonly tool_strict: boolean
}

/** Other names under which backends know a field, mostly those of their older interface. */
const aliases: Readonly<Record<string, readonly string[]>> = {
  temperature: ["temperature", "sampling parameters"],
  top_p: ["top_p", "sampling parameters"],
  top_k: ["top_k", "sampling parameters"],
  max_output_tokens: ["max_output_tokens", "max_tokens", "max_completion_tokens"],
  reasoning: ["reasoning"],
  "reasoning.effort": ["reasoning.effort", "reasoning_effort", "effort"],
  "text.verbosity": ["text.verbosity", "verbosity"],
  max_completion_tokens: ["max_completion_tokens", "max_tokens"],
  "generationConfig.topP": ["topP", "top_p"],
  "generationConfig.topK": ["topK", "top_k"],
  "generationConfig.seed": ["seed"],
  "generationConfig.temperature": ["temperature"],
  "generationConfig.maxOutputTokens": ["maxOutputTokens", "max_output_tokens"],
  "generationConfig.stopSequences": ["stopSequences", "stop_sequences"],
  "generationConfig.frequencyPenalty": ["frequencyPenalty", "frequency_penalty", "penalty"],
  "generationConfig.presencePenalty": ["presencePenalty", "presence_penalty", "penalty"],
  "generationConfig.thinkingConfig": [
    "thinkingConfig",
    "thinking_config",
    "thinking level",
    "thinkingLevel",
    "thinking_level",
  ],
  "output_config.effort": ["output_config.effort", "effort"],
  // It stands inside of what is marked: `messages.0.content.1.cache_control: …`.
  cache_control: ["cache_control", ".cache_control"],
  "cache_control.ttl": [
    "cache_control.ttl",
    "cache_control.ephemeral.ttl",
    ".cache_control.ephemeral.ttl",
    ".cache_control.ttl",
  ],
}

const formatNames = [
  "text.format",
  "response_format",
  "json_schema",
  "json_object",
  "structured_outputs",
  "structured outputs",
  "structured output",
  "guided_json",
  "grammar",
  "json mode",
  "format",
  "output_config.format",
  "output_format",
  "tool_choice",
  "responseSchema",
  "response_schema",
  "responseMimeType",
  "response_mime_type",
  "response mime type",
]

/** English words: they count as a field's name only where they are quoted, or next to a word that says so. */
const common = new Set([
  "stop",
  "seed",
  "store",
  "include",
  "reasoning",
  "text",
  "stream",
  "format",
  "user",
  "metadata",
  "effort",
  "tools",
])

/** Reads from a 400 which optional part of the request the backend does not take; null when it is about something else. */
export function refusedField(error: UpstreamError, sent: Sent): Refusal | null {
  if (error.status !== 400 && error.status !== 422 && !(error.status === 404 && sent.reasoning)) return null
  const { param, message } = error
  const named = (...candidates: readonly string[]): Refusal["by"] | null => {
    if (candidates.some((name) => isParam(name, param))) return "param"
    return candidates.some((name) => isInWords(name, message)) ? "words" : null
  }
  // The longest name first: `reasoning.effort` before `reasoning`.
  const options = sent
    .options()
    .filter((name) => name !== "text")
    .sort((a, b) => b.length - a.length)
  // Models that reason say of other settings, too, what they do to their reasoning: `thinking.budget_tokens`, a forced `tool_choice`.
  const forced = sent.format && !options.includes("tool_choice") && isInWords("tool_choice", message)
  const within = options.find((name) => name.includes(".") && isInWords(name, message))
  if (
    sent.reasoning &&
    !forced &&
    within === undefined &&
    /\brs_|encrypted|reasoning item|reasoning_content|thinking|signature|type.{0,3}reasoning|\['content'\]/i.test(
      `${message} ${error.code}`,
    )
  ) {
    return { about: "reasoning", by: "words" }
  }
  if (error.status === 404) return null
  if (sent.tool_strict && /^tools\b.*\bstrict$/.test(param ?? "")) return { about: "tool_strict", by: "param" }
  const format = sent.format ? refusedFormat(error, named) : null
  if (format !== null && sent.tools && /\b(?:tools?|functions?)\b/i.test(message)) return { about: "both", by: "words" }
  const isNamed = (name: string): boolean => (aliases[name] ?? [name]).some((alias) => isInWords(alias, message))
  const isKept = (name: string): number => Number(name.endsWith("temperature"))
  const pair = options.filter(isNamed).sort((a, b) => isKept(b) - isKept(a))
  const [first = "", second = ""] = pair
  if (pair.length === 2 && !first.startsWith(`${second}.`) && /\bboth\b|only one/i.test(message)) {
    return { about: "option", name: second, unknown: false, beside: first, by: "words" }
  }
  if (!forced && !(format !== null && param?.startsWith("text.format") === true)) {
    // What `param` names counts before what is only mentioned.
    for (const wanted of ["param", "words"] as const) {
      const name = options.find((option) => named(...(aliases[option] ?? [option])) === wanted)
      if (name !== undefined) return { about: "option", name, unknown: isUnknown(error), by: wanted }
    }
  }
  if (format !== null) return { about: "format", schema: isAboutSchema(error), by: format }
  const stream = sent.stream ? named("stream") : null
  return stream === null ? null : { about: "stream", by: stream }
}

function refusedFormat(
  error: UpstreamError,
  named: (...candidates: readonly string[]) => Refusal["by"] | null,
): Refusal["by"] | null {
  const { param } = error
  if (param?.startsWith("text.format") === true || param === "text") return "param"
  return (isUnknown(error) ? named("text") : null) ?? named(...formatNames)
}

function isAboutSchema({ code, param, message }: UpstreamError): boolean {
  return (
    code === "invalid_json_schema" ||
    param?.endsWith("schema") === true ||
    /invalid schema|format\.schema\b|recursive definitions|too complex|grammar/i.test(message)
  )
}

/** The backend refuses the field itself, not only its value. */
function isUnknown(error: UpstreamError): boolean {
  if (
    /^(?:unsupported|unknown|unrecognized)|extra_forbidden/.test(error.code ?? "") &&
    error.code !== "unsupported_value"
  )
    return true
  return /unsupported (?:parameter|field|argument)|unknown|unrecogni[sz]ed|not (?:supported|permitted|allowed|accepted)|unexpected|extra inputs|does not support|isn't supported|no such|deprecated|removed|no longer|not (?:enabled|available)/i.test(
    error.message,
  )
}

function isParam(name: string, param: string | null): boolean {
  return param === name || param?.startsWith(`${name}.`) === true || param?.startsWith(`${name}[`) === true
}

function isInWords(name: string, message: string): boolean {
  // A pattern is made only for a name that is there: `extra` may have thousands of fields.
  if (!message.toLowerCase().includes(name.toLowerCase())) return false
  const literal = name.replace(/[\\^$.*+?()[\]{}|/-]/g, "\\$&")
  if (new RegExp(`['"\`]${literal}['"\`]`, "i").test(message)) return true
  if (name.length < 4 || common.has(name)) {
    const word = "(?:parameter|field|argument|property|option|key|supplied|unknown|unsupported|unexpected)"
    const beside = `\\b${word}s?:?\\s+${literal}\\b|\\b${literal}\\s+${word}\\b|^${literal}\\s*(?::|is\\b|not\\b)`
    return new RegExp(beside, "i").test(message)
  }
  const before = name.startsWith(".") ? "" : "(?<![\\w.])"
  return new RegExp(`${before}${literal}(?!\\w)`, "i").test(message)
}
