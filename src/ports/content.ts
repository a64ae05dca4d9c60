/** What a trace shows of a run: texts and values, where the operator wants them. */
export interface ContentPort {
  /** `public`: what is proven not to be private; `all`: everything but secrets. */
  readonly level: "public" | "all"
  /** Files that mark nothing as private are shown whole. */
  readonly unmarked: boolean
  /** Messages of models say why they ended. */
  readonly saysFinish: boolean
  /** A model is asked in a turn of a step. */
  asked(run_id: string, step: ShownStep, prompt: ShownPrompt): void
  /** It has answered. `output`: JSON of a list of messages. */
  answered(run_id: string, step: ShownStep, output: string): void
  /** What a tool is given, or has given: JSON. */
  called(run_id: string, call_id: string, part: "arguments" | "result", json: string): void
}

export interface ShownStep {
  readonly agent: string
  readonly iteration?: number
  readonly scope?: string
  readonly turn: number
}

/** A model call that was answered. */
export interface AnsweredCall extends ShownStep {
  readonly attempt: number
}

/** Both are JSON: lists of parts, and of messages, in the form of the GenAI conventions. */
export interface ShownPrompt {
  readonly system: string | null
  readonly input: string
}

/** The form of the GenAI conventions. */
export type ShownPart =
  | { readonly type: "text"; readonly content: string }
  | { readonly type: "tool_call"; readonly id: string; readonly name: string; readonly arguments: unknown }
  | { readonly type: "tool_call_response"; readonly id: string; readonly response: unknown }

export interface ShownMessage {
  readonly role: "user" | "assistant" | "tool"
  readonly parts: readonly ShownPart[]
  readonly finish_reason?: string
}
