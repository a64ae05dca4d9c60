/**
 * What an expression may use in its place. The checker reports what goes beyond it, and the editor offers what is
 * within it: both take it from the functions below.
 */
export interface Allowance {
  /** `run`: all values of the run, and calls; `request`: only `input` and `secrets`, which are known before the run. */
  readonly values: "run" | "request" | "constants"
  /** `compared`, `computed`: the operand of an operator or a function, in a place that otherwise allows secrets. */
  readonly secrets: "allowed" | "exposed" | "compared" | "computed"
  /** Whether the expression may be an asset (`value`), or a text with assets in it (`text`). */
  readonly assets: "text" | "value" | "none"
  /** Only computed: `call`, `read` and `render` are not allowed. */
  readonly isComputed?: boolean
}

/** Where calls go, and as whom: endpoints, keys, headers. */
export const requestPlace: Allowance = { values: "request", secrets: "allowed", assets: "none" }

/** What a model is called with. */
export const modelPlace: Allowance = { values: "request", secrets: "exposed", assets: "none" }

/** For values that are evaluated while the workflow runs. */
export const runPlace: Allowance = { values: "run", secrets: "exposed", assets: "none" }

/** After the run: what it stored, without calls. */
export const scorePlace: Allowance = { ...runPlace, isComputed: true }

export const dynamicPlace: Allowance = { ...runPlace, assets: "value" }

export const instructionPlace: Allowance = { ...runPlace, assets: "text" }

/** The values of a literal `inference`, `limits` or `price` block, and the like. */
export const constantPlace: Allowance = { values: "constants", secrets: "exposed", assets: "none" }

/** Bindings send secrets to tools and resources. A prompt's text reaches a model. */
export function inBindings<P extends Allowance>(place: P, kind: "tool" | "resource" | "prompt" | undefined): P {
  return { ...place, secrets: kind === "prompt" ? "exposed" : "allowed", assets: "none" }
}

/** A model chooses or reads what stands there: the input of a tool, an approver. */
export function withoutSecrets<P extends Allowance>(place: P): P {
  return { ...place, secrets: "exposed", assets: "none" }
}

/** A condition or key of a list, which decides what is called. */
export function withoutCalls<P extends Allowance>(place: P): P {
  return { ...place, assets: "none", isComputed: true }
}

/** A part of a larger value: an element, a field, the value of a `match`. */
export function inValue<P extends Allowance>(place: P): P {
  return place.assets === "none" ? place : { ...place, assets: "none" }
}

/** Inside the `{{ }}` of a string. */
export function inText<P extends Allowance>(place: P): P {
  return { ...place, assets: place.assets === "text" ? "value" : "none" }
}

/** A side of `??` or a branch of `match`. Only a single text is an instruction with assets: a branch loses them. */
export function inAlternative<P extends Allowance>(place: P): P {
  return place.assets === "text" ? { ...place, assets: "none" } : place
}

/** An operand: it may not be a secret, because the result would tell about it. */
export function inOperand<P extends Allowance>(place: P, how: "compared" | "computed" = "compared"): P {
  return { ...place, secrets: place.secrets === "exposed" ? "exposed" : how, assets: "none" }
}
