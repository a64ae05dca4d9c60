import {
  constantPlace,
  inBindings,
  instructionPlace,
  inValue,
  requestPlace,
  runPlace,
  withoutCalls,
  withoutSecrets,
  type Allowance,
} from "../check/allowance.ts"
import type { LoopVariable, StepSymbol } from "../check/program.ts"
import { isBlockForm, rowsOf, type PropertyForm, type PropertyPlace } from "../syntax/property-table.ts"
import type { ArgumentBlock, Setting } from "./name-use.ts"

// What a value may refer to, and what it is expected to be, by the property that it stands in.

const none = new Map<string, LoopVariable>()

export const inRequest = settingIn(requestPlace)

export const constant = settingIn(constantPlace)

/** A trigger's values, which see nothing of a run. */
export const triggerSetting: Setting = { ...settingIn(runPlace), isComputed: true, isClosed: true }

export function settingIn(place: Allowance, node?: string, agent?: StepSymbol): Setting {
  return { ...place, agent, variables: agent?.variables ?? none, node, local: undefined, expects: "value" }
}

/** A batch decides for all its items whether its bindings may hold secrets; elsewhere the import decides. */
export function bindingSetting(place: PropertyPlace, taker: ArgumentBlock["import"], setting: Setting): Setting {
  if (place === "batch") return inValue(setting)
  const kind = taker?.kind === "workflow" ? undefined : taker?.kind
  return inBindings(setting, kind ?? (place === "render" ? "prompt" : "tool"))
}

export function propertySetting(place: PropertyPlace, name: string, setting: Setting): Setting {
  const row = rowsOf(place).get(name)
  if (
    (row?.constant !== undefined && row.orComputed !== true) ||
    (row?.words !== undefined && row.type === undefined)
  ) {
    return { ...constant, expects: row.words ?? "value" }
  }
  if (place === "webhook" && name === "secret") return inRequest
  if (place === "agent" && name === "instruction") return { ...setting, ...instructionPlace }
  const expects = row?.words ?? (row?.form === "model" || row?.form === "context" ? row.form : undefined)
  return expects === undefined ? setting : { ...setting, expects }
}

export function blockSetting(form: PropertyForm, setting: Setting): Setting {
  if (isBlockForm(form) || form === "batch") return constant
  if (form === "repeat") return afterRound(setting)
  return form === "approval" || form === "elicitation" ? withoutSecrets(setting) : setting
}

/** `until` sees the output of the round, and none of the agent's own values. */
function afterRound(setting: Setting): Setting {
  const agent = setting.agent && { ...setting.agent, locals: new Map() }
  return { ...withoutCalls(setting), agent, judges: true, hasRound: true }
}
