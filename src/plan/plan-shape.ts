import type { ChatFields } from "../check/program.ts"
import type { JsonObject } from "../base/json-value.ts"
import type { HttpMethod } from "../check/http-route.ts"
import type { ApiName } from "../check/provider-kinds.ts"
import type { SecretNames } from "../check/secret-routes.ts"
import type { WordOf } from "../syntax/property-table.ts"
import type { RecordType, Type, TypeTable } from "../types/types.ts"
import type { ContentPlan } from "./content-plan.ts"
import type { ApprovalPlan, Entry, Expression, LoopPlan, FunctionPlan } from "./expression.ts"

/** A workflow ready to run: plain JSON, nothing of its source text needed any more. */
export interface Plan {
  readonly types: TypeTable
  readonly input: RecordType
  /** What an input must fulfil besides its type, over `input` alone. Absent where there is nothing. */
  readonly input_requires?: readonly RequirementPlan[]
  readonly secrets: RecordType
  /** The backends that get secrets, and whose address or headers a caller may decide. Absent where there are none. */
  readonly secret_routes?: readonly SecretRoutePlan[]
  /** Type of the result, as far as it is known before the run. */
  readonly output: RecordType
  readonly providers: { readonly [name: string]: ProviderPlan }
  readonly models: { readonly [name: string]: ModelPlan }
  readonly servers: { readonly [name: string]: ServerPlan }
  /** HTTP APIs. Absent where there are none. */
  readonly apis?: { readonly [name: string]: ApiPlan }
  readonly tools: { readonly [name: string]: ToolPlan }
  /** Tools that say `requires: none`. Absent where there are none. */
  readonly harmless?: readonly string[]
  readonly resources: { readonly [name: string]: RemotePlan }
  readonly prompts: { readonly [name: string]: RemotePlan }
  /** The files that it calls, by the names of their declarations. Absent where there are none. */
  readonly workflows?: { readonly [name: string]: CalledWorkflow }
  /** Functions of one's own, by name. Absent where there are none. */
  readonly functions?: { readonly [name: string]: FunctionPlan }
  /** The limits of the whole run; null without any. */
  readonly limits: Limits | null
  /** Which fields make a conversation of it. Absent without a `chat` block. */
  readonly chat?: ChatFields
  /** What its runs are judged by after they have completed. Absent where there is nothing. */
  readonly scores?: readonly ScorePlan[]
  /** Which of its values are private. Absent for a file that marks none, and for one that is called. */
  readonly content?: ContentPlan
  /** In an order in which they can run; the output, where there is one, is last. */
  readonly nodes: readonly PlanNode[]
}

/** What a run is judged by once it has completed. */
export interface ScorePlan {
  readonly name: string
  /** The share of the runs that are judged. */
  readonly sample: number
  readonly when: Expression | null
  /** Computed; null where a model judges. */
  readonly value: Expression | null
  readonly judge: JudgePlan | null
  /** It is made from private values. Absent where it is not. */
  readonly private?: true
}

export interface JudgePlan {
  readonly model: ModelUse
  /** What it is shown. */
  readonly of: Expression
  readonly criterion: Expression
  readonly output: RecordType
  /** The field of the output that counts: the first one that is no text. */
  readonly counted: string
}

/** A file that is called, with what its declaration in the calling file says. */
export interface CalledWorkflow {
  /** The declared name. */
  readonly name: string
  /** Its path from the root. */
  readonly file: string
  /** SHA-256 over the texts of all files that it needs, in the order of their paths; of its own text where it needs no other. */
  readonly version: string
  readonly description: string | null
  readonly plan: Plan
  /** Each secret of the called file, and the one of the calling file that it is; null where it is left out. */
  readonly secrets: { readonly [name: string]: string | null }
}

/** The server's own secrets do not go to a backend that a request steers. */
export interface SecretRoutePlan {
  /** `provider.p`, `mcp.s`, `api.a` */
  readonly backend: string
  /** Fields of the input that decide where its calls go, such as `input.url`. */
  readonly inputs: readonly string[]
  /** Names of secrets that decide it. */
  readonly destinationInputs: SecretNames
  /** Names of all secrets that it gets. */
  readonly sent: SecretNames
}

export interface ProviderPlan {
  /** The provider's kind as the author wrote it: `anthropic`, `ollama`. */
  readonly kind: string
  readonly api: ApiName
  /** The literal `demo` is the service's own demo model. */
  readonly endpoint: Expression
  readonly api_key: Expression | null
  readonly headers: readonly Entry[]
  readonly inference: Inference
  /** Absent where it states none. */
  readonly rate?: RatePlan
}

/** How fast all runs together may call an endpoint with the same credentials. */
export interface RatePlan {
  readonly requests_per_minute?: number
  readonly tokens_per_minute?: number
  readonly concurrency?: number
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
  readonly price: StatedPrice | null
  /** Absent where it states none. */
  readonly prompt_cache?: PromptCacheWord
  /** Tools that its provider hosts, as they are sent. Absent where it states none. */
  readonly hosted_tools?: readonly JsonObject[]
  /** Absent where it makes text alone. */
  readonly outputs?: readonly MediaKind[]
}

/** Prices of a million tokens. */
export interface StatedPrice {
  readonly input: number
  readonly cached: number
  /** Null: what the API charges by default. */
  readonly written: number | null
  readonly output: number
  /** The factor on all of them for a call that is made in a batch. */
  readonly batch: number
  /** The price of one use of a tool that the provider hosts, by type. */
  readonly hosted: Readonly<Record<string, number>>
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
export type MediaKind = WordOf<"media">
export type ResponseFormat = WordOf<"response_format">
export type PromptCacheWord = WordOf<"prompt_cache">

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
  /** How it is signed in to. Absent where it is not. */
  readonly auth?: AuthPlan
  /** Whom the questions of an MCP server go to. Absent where it may not ask. */
  readonly elicitation?: ApprovalPlan
}

/** OAuth client credentials. */
export interface AuthPlan {
  /** By their names: `issuer`, `client_id`, `scopes`. */
  readonly values: readonly Entry[]
  readonly client_auth: WordOf<"client_auth">
}

export interface ApiPlan extends ServerPlan {
  /** Time for each attempt. */
  readonly timeout_seconds: number
  readonly max_retries: number
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
  /** Arguments that must be trusted, where only the server knows which arguments there are. */
  readonly requires?: readonly string[]
  /** A tool of an api; its `server` is the name of that. Absent for a tool of an MCP server. */
  readonly http?: HttpToolPlan
}

/** The request that a call of a tool becomes. */
export interface HttpToolPlan {
  readonly method: HttpMethod
  /** With `{name}` where arguments go. */
  readonly path: string
  /** Arguments that do not go where the method says. */
  readonly send: { readonly [argument: string]: SendPlan }
  /** Nulls are sent in bodies. */
  readonly nulls: boolean
  /** The result is the status, the headers and the body of every answer. */
  readonly status: boolean
}

export type SendPlan = { readonly to: "query" | "body" } | { readonly to: "header"; readonly name: string }

export type PlanNode = DynamicNode | AgentNode | AskNode | WaitNode | OutputNode

interface NodeBase {
  /** `dynamic.x`, `agent.y`, `ask.z`, `wait.w` or `output`. */
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

export interface BatchPlan {
  readonly within_hours: number
}

export interface AgentNode extends NodeBase {
  readonly kind: "agent"
  readonly loop: LoopPlan | null
  readonly when: WhenPlan | null
  /** Absent where it does not repeat. */
  readonly repeat?: RoundsPlan
  /** Hours in which its items are done in batches. Absent where its calls are made one by one. */
  readonly batch?: BatchPlan
  /** Items of the loop at a time; null: as many as the run allows. */
  readonly concurrency: number | null
  readonly on_failure: "fail" | "skip"
  readonly models: ModelUses
  /** The name of the one among `models` that does the step. Absent where they are tried in their order. */
  readonly choice?: Expression
  readonly response_format: ResponseFormat | null
  readonly max_steps: number
  readonly uses: readonly UsePlan[]
  /** The workflows among its `uses`. Absent where there are none. */
  readonly workflows?: readonly WorkflowUsePlan[]
  readonly context: ContextPlan | null
  /** What was said before its instruction: a list of messages. Absent where nothing was. */
  readonly messages?: Expression
  /** In an order in which they can be computed. */
  readonly locals: readonly Entry[]
  readonly files: readonly FilePlan[]
  readonly instruction: Expression
  readonly system: Expression | null
  /** Over all of its iterations; null where it has none. */
  readonly limits: Limits | null
  /** Absent where it states none. */
  readonly prompt_cache?: PromptCacheWord
  /** Besides those of its models. Absent where it states none. */
  readonly hosted_tools?: readonly JsonObject[]
  /** The beginning of its prompt that stays the same holds private values. Absent where it holds none. */
  readonly keeps_private?: true
  readonly output: RecordType
  readonly requires: readonly RequirementPlan[]
}

/** What an output or an answer must fulfil besides its type. */
export interface RequirementPlan {
  /** It refers to nothing but `result` and the captured values. */
  readonly condition: Expression
  /** The text for an output that does not fulfil it; null: the condition as it is written. */
  readonly message: Expression | null
  /** The condition as the author wrote it. */
  readonly text: string
  /** What it refers to besides `result`. */
  readonly captures: readonly Expression[]
}

/** A question to a person. Its durable identity is its id, with the position of the item in a loop. */
export interface AskNode extends NodeBase {
  readonly kind: "ask"
  readonly loop: LoopPlan | null
  readonly when: WhenPlan | null
  /** Open questions of the loop at a time; null: all are asked at once. */
  readonly concurrency: number | null
  /** A string. */
  readonly question: Expression
  readonly show: Expression | null
  /** A string: a group, or a label. */
  readonly to: Expression | null
  /** Some fields of the answer, for whoever leaves them out. */
  readonly prefill: Expression | null
  /** A number. */
  readonly expires_seconds: Expression
  /** The answer when nobody gives one in time, of the type `output`; null: the run fails. */
  readonly on_expiry: Expression | null
  readonly output: RecordType
  readonly requires: readonly RequirementPlan[]
}

/** Waits for a time or an event. Its durable identity is its id, with the position of the item in a loop. */
export interface WaitNode extends NodeBase {
  readonly kind: "wait"
  readonly loop: LoopPlan | null
  readonly when: WhenPlan | null
  readonly awaits: AwaitedPlan
}

/** What ends a wait. */
export type AwaitedPlan =
  /** A number. */
  | { readonly kind: "seconds"; readonly seconds: Expression }
  /** A string. */
  | { readonly kind: "until"; readonly until: Expression }
  | {
      readonly kind: "event"
      readonly event: string
      /** A string; null: it is empty. */
      readonly key: Expression | null
      /** A number. */
      readonly expires_seconds: Expression
      /** The value when no event comes in time, of the type `output`; null: the run fails. */
      readonly on_expiry: Expression | null
      readonly output: RecordType
    }

/** When an agent that repeats is done. */
export interface RoundsPlan {
  /** It refers to `result` and `round`, too. */
  readonly until: Expression
  readonly at_most: number
}

/** Decides whether a step is done, for each item of a loop. */
export interface WhenPlan {
  readonly condition: Expression
  /** The condition as the author wrote it. */
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
  /** What the use says in place of the description of what it uses. Absent where it says nothing. */
  readonly description?: string
}

/** A file that the model may call as a tool. */
export interface WorkflowUsePlan {
  /** Its name in the plan's `workflows`. */
  readonly workflow: string
  /** Fields of its input that the model does not set. */
  readonly bindings: readonly Entry[]
  readonly max_calls: number | null
  readonly approval: ApprovalPlan | null
  /** What the use says in place of the file's own description; null where it says nothing. */
  readonly description: string | null
}

export interface ContextPlan {
  readonly agent: string
  /** How the history is summarised first; null: taken whole. */
  readonly compact: {
    /** The models are the agent's own. Absent where they are named. */
    readonly own?: true
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
  readonly kind: "dynamic" | "agent" | "ask" | "wait" | "output"
  readonly name: string
  readonly depends_on: readonly string[]
  /** The source text of its condition. */
  readonly when?: string
  /** Max rounds of an agent that repeats. */
  readonly at_most?: number
  /** The name of the event that it waits for. */
  readonly event?: string
  /** The files that it calls, where there are any: the first one, and all of them where there are more. */
  readonly workflow?: PlannedWorkflow
  readonly workflows?: readonly PlannedWorkflow[]
}

/** A called file in the public plan. */
export interface PlannedWorkflow {
  readonly name: string
  readonly file: string
  readonly plan: PlannedGraph
}

/** `to` waits for `from`. */
export interface PlannedGraph {
  readonly nodes: readonly PlannedNode[]
  readonly edges: readonly { readonly from: string; readonly to: string }[]
}
