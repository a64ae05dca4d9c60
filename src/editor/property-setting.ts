import {
  constantPlace,
  inBindings,
  instructionPlace,
  inValue,
  requestPlace,
  withoutSecrets,
  type Allowance,
} from "../check/allowance.ts"
import type { StepSymbol } from "../check/program.ts"
import type { PropertyPlace } from "../syntax/property-forms.ts"
import type { ArgumentBlock, Setting } from "./name-use.ts"

// What a value may refer to, and what it is expected to be, by the property that it stands in.

export const inRequest = settingIn(requestPlace)

export const constant = settingIn(constantPlace)

/** Properties whose value is a constant, and what it may be beside numbers and strings. */
const constants: Readonly<Record<string, Setting["expects"]>> = {
  max_calls: "value",
  max_steps: "value",
  description: "value",
  pin: "value",
  wire_api: "wire_api",
  idempotent: "boolean",
  response_format: "response_format",
  on_failure: "on_failure",
  approval: "approval",
  expires_seconds: "value",
  assets: "asset",
}

/** Blocks whose values are all written out. */
const constantBlocks = ["inference", "price", "limits"]

export function settingIn(place: Allowance, node?: string, agent?: StepSymbol): Setting {
  return { ...place, agent, node, local: undefined, expects: "value" }
}

/** A batch decides for all its items whether its bindings may hold secrets; elsewhere the import decides. */
export function bindingSetting(place: PropertyPlace, taker: ArgumentBlock["import"], setting: Setting): Setting {
  if (place === "batch") return inValue(setting)
  return inBindings(setting, taker?.kind ?? (place === "render" ? "prompt" : "tool"))
}

export function propertySetting(place: PropertyPlace, name: string, setting: Setting): Setting {
  if (place === "inference")
    return name === "reasoning_effort" || name === "verbosity" ? { ...constant, expects: "level" } : constant
  if (name === "model" && (place === "agent" || place === "compact")) return { ...setting, expects: "model" }
  if (name === "type" && place === "asset") return { ...constant, expects: "asset" }
  if (name === "citations" && place === "asset") return { ...setting, expects: "boolean" }
  const expects = Object.hasOwn(constants, name) && place !== "asset" && place !== "file" ? constants[name] : undefined
  if (expects !== undefined) return { ...constant, expects }
  if (place === "agent" && name === "instruction") return { ...setting, ...instructionPlace }
  if (place === "agent" && name === "context") return { ...setting, expects: "context" }
  return setting
}

export function blockSetting(name: string, setting: Setting): Setting {
  if (constantBlocks.includes(name)) return constant
  return name === "approval" ? withoutSecrets(setting) : setting
}
