/** Which of a file's values are private, for whoever shows the others. A list of paths says where a private value comes from; an empty one, that it is not private. */
export interface ContentPlan {
  readonly agents: { readonly [name: string]: AgentContentPlan }
  /** The systems of models, by the model: each part of the text that is no literal. */
  readonly systems: { readonly [model: string]: readonly PathList[] }
  /** Calls of tools in expressions, by step and tool: `dynamic.found tool.find`. */
  readonly calls: { readonly [call: string]: CallContentPlan }
  /** The files that it calls, by their declared names. Of one that is missing nothing is proven. */
  readonly workflows: { readonly [name: string]: ContentPlan }
}

export type PathList = readonly string[]

export interface AgentContentPlan {
  /** Its model reads private values: all that it says, and what tools answer it, is made from them. */
  readonly reads: boolean
  /** Each part of the text that is no literal. */
  readonly instruction: readonly PathList[]
  /** Null: the model's own text counts. */
  readonly system: readonly PathList[] | null
  readonly messages: PathList
  readonly files: readonly PathList[]
  /** What it continues. */
  readonly context: PathList
  /** The private fields of its output. */
  readonly output: readonly string[]
}

export interface CallContentPlan {
  readonly arguments: { readonly [name: string]: PathList }
  readonly isResultPrivate: boolean
}
