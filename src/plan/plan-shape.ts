import type { JsonObject } from "../base/json-value.ts"
import type { ApiName } from "../check/provider-kinds.ts"
import type { SecretNames } from "../check/secret-routes.ts"
import type { WordOf } from "../syntax/property-table.ts"
import type { RecordType, Type, TypeTable } from "../types/types.ts"
import type { ApprovalPlan, Entry, Expression } from "./expression.ts"

/** A workflow ready to run: plain JSON, nothing of its source text needed any more. */
export interface Plan {
  readonly types: TypeTable
  readonly input: RecordType
  readonly secrets: RecordType
  /** The backends that get secrets, and whose address or headers a caller may decide. Absent where there are none. */
  readonly secret_routes?: readonly SecretRoutePlan[]
  /** Type of the result, as far as it is known before the run. */
  readonly output: RecordType
  readonly providers: { readonly [name: string]: ProviderPlan }
  readonly models: { readonly [name: string]: ModelPlan }
  readonly servers: { readonly [name: string]: ServerPlan }
  readonly tools: { readonly [name: string]: ToolPlan }
  readonly resources: { readonly [name: string]: RemotePlan }
  readonly prompts: { readonly [name: string]: RemotePlan }
  /** The limits of the whole run; null without any. */
  readonly limits: Limits | null
  /** In an order in which they can run; the output, where there is one, is last. */
  readonly nodes: readonly PlanNode[]
}

/** The server's own secrets do not go to a backend that a request steers. */
export interface SecretRoutePlan {
  /** `provider.p`, `mcp.s` */
  readonly backend: string
  /** Fields of the input that decide where its calls go, such as `input.url`. */
  readonly inputs: readonly string[]
  /** Names of secrets that decide it. */
  readonly steering: SecretNames
  /** Names of all secrets that it gets. */
  readonly sent: SecretNames
}

export interface ProviderPlan {
  /** As the author wrote it: `anthropic`, `ollama`. */
  readonly kind: string
  readonly api: ApiName
  /** The literal `demo` is the service's own demo model. */
  readonly endpoint: Expression
  readonly api_key: Expression | null
  readonly headers: readonly Entry[]
  readonly inference: Inference
}

export interface ModelPlan {
  readonly provider: string
  /** Null: its provider's. */
  readonly api: ApiName | null
  readonly id: Expression
  readonly inference: Inference
  readonly assets: readonly AssetKind[]
  readonly response_format: ResponseFormat | null
  /** For its agents that have none of their own. */
  readonly system: Expression | null
  readonly price: Price | null
}

/** Prices of a million tokens. */
export interface Price {
  readonly input: number
  readonly cached: number
  readonly output: number
}

/** What a run or an agent may use at most. */
export interface Limits {
  readonly cost?: number
  readonly tokens?: number
  readonly model_calls?: number
  readonly tool_calls?: number
  readonly time_seconds?: number
}

/** A model at the place where it is used. */
export interface ModelUse {
  readonly name: string
  /** What the place sets, not yet merged with the settings of the model and its provider. */
  readonly inference: Inference
}

/** In the order in which they are tried; never empty. */
export type ModelUses = readonly [ModelUse, ...ModelUse[]]

export type AssetKind = WordOf<"asset">
export type ResponseFormat = WordOf<"response_format">

/** Keys as the author writes them; merged provider, model, agent, the later wins. */
export interface Inference {
  readonly temperature?: number
  readonly top_p?: number
  readonly top_k?: number
  readonly frequency_penalty?: number
  readonly presence_penalty?: number
  readonly repeat_penalty?: number
  readonly max_tokens?: number
  readonly reasoning_effort?: string
  readonly verbosity?: string
  readonly seed?: number
  readonly stop?: string | readonly string[]
  readonly timeout_seconds?: number
  readonly max_retries?: number
  readonly retry_base_delay_ms?: number
  readonly output_retries?: number
  readonly extra?: JsonObject
}

export interface ServerPlan {
  readonly endpoint: Expression
  readonly headers: readonly Entry[]
}

export interface RemotePlan {
  readonly server: string
  /** The name (or URI template) on the server. */
  readonly remote: string
  readonly bindings: readonly Entry[]
}

export interface ToolPlan extends RemotePlan {
  readonly input: Type | null
  readonly output: Type | null
  readonly max_calls: number | null
  readonly description: string | null
  readonly idempotent: boolean
  readonly pin: string | null
}

export type PlanNode = DynamicNode | AgentNode | AskNode | OutputNode

interface NodeBase {
  /** `dynamic.x`, `agent.y`, `ask.z` or `output`. */
  readonly id: string
  readonly name: string
  readonly depends_on: readonly string[]
}

export interface DynamicNode extends NodeBase {
  readonly kind: "dynamic"
  readonly value: Expression
}

export interface OutputNode extends NodeBase {
  readonly kind: "output"
  readonly fields: readonly Entry[]
}

export interface AgentNode extends NodeBase {
  readonly kind: "agent"
  readonly loop: LoopPlan | null
  readonly when: WhenPlan | null
  readonly on_failure: "fail" | "skip"
  readonly models: ModelUses
  readonly response_format: ResponseFormat | null
  readonly max_steps: number
  readonly uses: readonly UsePlan[]
  readonly context: ContextPlan | null
  /** In an order in which they can be computed. */
  readonly locals: readonly Entry[]
  readonly files: readonly FilePlan[]
  readonly instruction: Expression
  readonly system: Expression | null
  /** Over all of its iterations; null where it has none. */
  readonly limits: Limits | null
  readonly output: RecordType
}

/** A question to a person. Its durable identity is its id, with the position of the item in a loop. */
export interface AskNode extends NodeBase {
  readonly kind: "ask"
  readonly loop: LoopPlan | null
  readonly when: WhenPlan | null
  /** A string. */
  readonly question: Expression
  readonly show: Expression | null
  /** A string: a group, or a label. */
  readonly to: Expression | null
  readonly expires_seconds: number
  /** The answer when nobody gives one in time, of the type `output`; null: the run fails. */
  readonly on_expiry: Expression | null
  readonly output: RecordType
}

export interface LoopPlan {
  readonly items: Expression
  /** One variable for the item, or one for each named field of it. */
  readonly pattern:
    | { readonly kind: "item"; readonly variable: string }
    | { readonly kind: "fields"; readonly fields: readonly { readonly field: string; readonly variable: string }[] }
}

/** Decides whether a step is done, for each item of a loop. */
export interface WhenPlan {
  readonly condition: Expression
  /** As the author wrote it. */
  readonly text: string
}

export interface UsePlan {
  readonly kind: "tool" | "resource" | "prompt"
  readonly name: string
  /** Durable identity, as that of a call. */
  readonly site: string
  readonly bindings: readonly Entry[]
  readonly max_calls: number | null
  /** What the import and the use demand together; null: no approval is needed. */
  readonly approval: ApprovalPlan | null
}

export interface ContextPlan {
  readonly agent: string
  /** How the history is summarised first; null: taken whole. */
  readonly compact: {
    readonly models: ModelUses
    readonly instruction: Expression | null
  } | null
}

export interface FilePlan {
  /** Null: `stem` with an extension that fits the content. */
  readonly name: Expression | null
  /** The last name of the path that is the content; `file` of a text. */
  readonly stem: string | null
  readonly content: Expression
  readonly media_type: Expression | null
}

/** A node as the public plan shows it: `/validate` and `workflow_planned`. */
export interface PlannedNode {
  readonly id: string
  readonly kind: "dynamic" | "agent" | "ask" | "output"
  readonly name: string
  readonly depends_on: readonly string[]
  /** The source text of its condition. */
  readonly when?: string
}
