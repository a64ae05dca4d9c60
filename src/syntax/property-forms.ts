/** A block with properties, by what it belongs to. */
export type PropertyPlace =
  | "provider"
  | "model"
  | "mcp"
  | "tool"
  | "resource"
  | "prompt"
  | "batch"
  | "agent"
  | "ask"
  | "approval"
  | "inference"
  | "price"
  | "limits"
  | "file"
  /** The block after the content of a file: `file input.report { … }`. */
  | "short-file"
  | "use"
  | "configured-model"
  | "compact"
  | "call"
  | "read"
  | "render"
  | "asset"
  | "unknown"

/** What the grammar reads after a property's name. Keywords are contextual, so only the place can tell. */
export type PropertyForm =
  | "expression"
  /** A block of fields with types. */
  | "types"
  /** A block of fields with values. */
  | "values"
  /** The same; its names may contain `-`. */
  | "headers"
  | "inference"
  | "price"
  | "limits"
  | "file"
  | "uses"
  /** A reference with an optional block, or a list of them. */
  | "model"
  | "context"
  /** A word, or a block with details. */
  | "approval"

type Forms = Readonly<Record<string, PropertyForm>>

/** The forms of the properties of one place that are not plain expressions. */
export interface PropertyForms {
  readonly byName: ReadonlyMap<string, PropertyForm>
  /** One bit for the length of each name: most other properties are ruled out by their length alone. */
  readonly lengths: number
}

const imported: Forms = { bindings: "values" }
const approved: Forms = { ...imported, approval: "approval" }
const tool: Forms = { ...approved, input: "types", output: "types" }

const forms: Readonly<Record<PropertyPlace, Forms>> = {
  provider: { headers: "headers", inference: "inference" },
  model: { inference: "inference", price: "price" },
  mcp: { headers: "headers" },
  tool,
  resource: imported,
  prompt: imported,
  batch: approved,
  agent: {
    model: "model",
    models: "model",
    output: "types",
    uses: "uses",
    tools: "uses",
    context: "context",
    file: "file",
    dynamic: "values",
    limits: "limits",
  },
  ask: { output: "types" },
  approval: {},
  inference: { extra: "values" },
  price: {},
  limits: {},
  file: {},
  "short-file": {},
  use: approved,
  "configured-model": { inference: "inference" },
  compact: { model: "model" },
  call: { ...approved, input: "values" },
  read: { bindings: "values" },
  render: { bindings: "values" },
  asset: {},
  unknown: {},
}

const places = new Map<string, PropertyForms>(
  Object.entries(forms).map(([place, known]) => {
    const byName = new Map(Object.entries(known))
    const lengths = Object.keys(known).reduce((bits, name) => bits | (1 << name.length), 0)
    return [place, { byName, lengths }]
  }),
)

export function formsOf(place: PropertyPlace): PropertyForms {
  const known = places.get(place)
  if (known === undefined) throw new Error(`No forms of properties for ${place}`)
  return known
}

export function formOf({ byName, lengths }: PropertyForms, name: string): PropertyForm {
  return (lengths & (1 << name.length)) === 0 ? "expression" : (byName.get(name) ?? "expression")
}
