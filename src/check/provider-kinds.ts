/** The facts about an API by which models are called. How it is spoken is in `adapters/model-apis/` and `demo/apis/`. */
export interface ModelApiFacts {
  /** Its name in messages. */
  readonly label: string
  /** Settings of `inference` that it does not have. */
  readonly ignores: readonly string[]
  /** Whether its vendor hosts tools that a request can name. */
  readonly hostsTools: boolean
  /** Options of an asset that is a document that it has. */
  readonly documentOptions: readonly DocumentOption[]
  readonly takesAudio: boolean
  /** What its models can make besides text. */
  readonly makes: readonly ("image" | "audio")[]
  /** Keys of its body, besides those of all APIs, that the service sets itself: where a workflow says it instead. */
  readonly reserved?: Readonly<Record<string, string>>
}

export const documentOptions = ["context", "citations"] as const
export type DocumentOption = (typeof documentOptions)[number]

/** The APIs by which models are talked to. */
export type TalkApiName = "responses" | "chat" | "anthropic" | "google"
/** Those of one thing in, one thing out: `wire_api` names them. */
export type AudioApiName = "speech" | "transcription"
/** The APIs by which models are called. */
export type ApiName = TalkApiName | AudioApiName

const said = "Write `instruction`, or `messages`."

/** Settings of models that one talks to. */
const talkSettings: readonly string[] = [
  "top_p",
  "top_k",
  "max_tokens",
  "frequency_penalty",
  "presence_penalty",
  "repeat_penalty",
  "reasoning_effort",
  "verbosity",
  "seed",
  "stop",
]

export const modelApis: Readonly<Record<ApiName, ModelApiFacts>> = {
  responses: {
    label: "OpenAI's `/responses` API",
    takesAudio: false,
    makes: ["image"],
    hostsTools: true,
    ignores: ["top_k", "frequency_penalty", "presence_penalty", "repeat_penalty"],
    documentOptions: [],
    reserved: { input: said },
  },
  chat: {
    label: "OpenAI's chat completions API",
    takesAudio: true,
    makes: [],
    hostsTools: false,
    ignores: [],
    documentOptions: [],
    reserved: { messages: said, response_format: "Write `response_format` of the agent." },
  },
  anthropic: {
    label: "Anthropic's API",
    takesAudio: false,
    makes: [],
    hostsTools: true,
    ignores: ["seed", "verbosity", "frequency_penalty", "presence_penalty", "repeat_penalty"],
    documentOptions,
    reserved: { messages: said },
  },
  google: {
    label: "Google's API",
    takesAudio: true,
    makes: ["image", "audio"],
    hostsTools: true,
    ignores: ["verbosity", "repeat_penalty"],
    documentOptions: [],
    reserved: { contents: said },
  },
  speech: {
    label: "OpenAI's speech API",
    takesAudio: false,
    makes: ["audio"],
    hostsTools: false,
    ignores: [...talkSettings, "temperature"],
    documentOptions: [],
    reserved: { input: "Write `instruction`." },
  },
  transcription: {
    label: "OpenAI's transcription API",
    takesAudio: true,
    makes: [],
    hostsTools: false,
    ignores: talkSettings,
    documentOptions: [],
    reserved: { file: "Write an asset into the `instruction`.", prompt: "Write it into the `instruction`." },
  },
}

/** Those by which calls can be made in batches. */
export const batchApis: readonly ApiName[] = ["responses", "chat", "anthropic"]

/** The facts about the requests of an API. Kept apart from the others: browsers load only those. */
export interface ApiRequestFacts {
  /** The version that the path of an endpoint ends with. */
  readonly version: "/v1" | "/v1beta"
  /** Headers that tell nothing about anybody. */
  readonly plainHeaders?: readonly string[]
  /** The route of the demo model: its id, its path, how the documentation names it, and the parameters in its path. Absent where it is for workflows alone. */
  readonly demo?: {
    readonly id: string
    readonly path: string
    readonly title: string
    readonly parameters?: Readonly<Record<string, string>>
  }
}

export const apiRequests: Readonly<Record<ApiName, ApiRequestFacts>> = {
  responses: {
    version: "/v1",
    demo: { id: "demo", path: "/demo/v1/responses", title: "OpenAI's `/responses`" },
  },
  chat: {
    version: "/v1",
    demo: { id: "demoChat", path: "/demo/v1/chat/completions", title: "OpenAI's chat completions" },
  },
  anthropic: {
    version: "/v1",
    plainHeaders: ["anthropic-beta", "anthropic-version"],
    demo: { id: "demoMessages", path: "/demo/v1/messages", title: "Anthropic's `/messages`" },
  },
  google: {
    version: "/v1beta",
    demo: {
      id: "demoGenerateContent",
      path: "/demo/v1beta/models/{call*}",
      title: "Google's `generateContent` and `streamGenerateContent`",
      parameters: { call: "The model and the method: `demo:generateContent`." },
    },
  },
  speech: { version: "/v1" },
  transcription: { version: "/v1" },
}

/** The names of kinds of providers in the GenAI conventions of OpenTelemetry, where they differ. */
export const telemetryNames: ReadonlyMap<string, string> = new Map([
  ["openai_compatible", "openai"],
  ["openai_chat", "openai"],
  ["anthropic_compatible", "anthropic"],
  ["google", "gcp.gemini"],
  ["mistral", "mistral_ai"],
  ["xai", "x_ai"],
])

export interface ProviderKind {
  readonly api: ApiName
  /** Where calls go when the provider sets no `endpoint`; null: it has to. */
  readonly endpoint: string | null
  /** A sentence for hover and completion. */
  readonly about: string
}

const openai = "https://api.openai.com/v1"
const chat = "A backend with OpenAI-compatible chat completions"

/** A product that speaks chat completions. */
function product(name: string, endpoint: string): ProviderKind {
  return { api: "chat", endpoint, about: `${chat}: ${name}.` }
}

/** The words that may follow `from` in a provider's head. */
export const providerKinds: ReadonlyMap<string, ProviderKind> = new Map<string, ProviderKind>([
  ["openai", { api: "responses", endpoint: openai, about: "Any backend with an OpenAI-compatible `/responses`." }],
  ["openai_compatible", { api: "responses", endpoint: openai, about: "The same as `openai`." }],
  ["openai_chat", { api: "chat", endpoint: openai, about: `${chat}; OpenAI's own if no \`endpoint\` is set.` }],
  ["anthropic", { api: "anthropic", endpoint: "https://api.anthropic.com/v1", about: "Anthropic's API, `/messages`." }],
  [
    "anthropic_compatible",
    { api: "anthropic", endpoint: null, about: "A backend that speaks Anthropic's API, at its `endpoint`." },
  ],
  [
    "google",
    {
      api: "google",
      endpoint: "https://generativelanguage.googleapis.com/v1beta",
      about: "Google's Gemini API, `generateContent`.",
    },
  ],
  ["ollama", product("Ollama on this machine", "http://localhost:11434/v1")],
  ["lmstudio", product("LM Studio on this machine", "http://localhost:1234/v1")],
  ["vllm", product("vLLM on this machine", "http://localhost:8000/v1")],
  ["llamacpp", product("llama.cpp on this machine", "http://localhost:8080/v1")],
  ["openrouter", product("OpenRouter", "https://openrouter.ai/api/v1")],
  ["groq", product("Groq", "https://api.groq.com/openai/v1")],
  ["mistral", product("Mistral", "https://api.mistral.ai/v1")],
  ["deepseek", product("DeepSeek", "https://api.deepseek.com/v1")],
  ["xai", product("xAI", "https://api.x.ai/v1")],
  ["together", product("Together", "https://api.together.xyz/v1")],
  ["fireworks", product("Fireworks", "https://api.fireworks.ai/inference/v1")],
  ["cerebras", product("Cerebras", "https://api.cerebras.ai/v1")],
  ["perplexity", product("Perplexity", "https://api.perplexity.ai")],
  ["cohere", product("Cohere", "https://api.cohere.ai/compatibility/v1")],
  ["sambanova", product("SambaNova", "https://api.sambanova.ai/v1")],
])

/** Names of models and companies that people write for the kind. */
const others: ReadonlyMap<string, string> = new Map([
  ["claude", "anthropic"],
  ["gemini", "google"],
  ["gpt", "openai"],
  ["chatgpt", "openai"],
  ["azure", "openai"],
  ["grok", "xai"],
  ["llama", "llamacpp"],
  ["llama_cpp", "llamacpp"],
  ["lm_studio", "lmstudio"],
])

/** The kind that the author probably wanted, for a word that is not one. */
export function meantKind(
  word: string,
  suggest: (name: string, known: Iterable<string>) => string | undefined,
): string | undefined {
  const lower = word.toLowerCase()
  if (providerKinds.has(lower)) return lower
  return others.get(lower) ?? suggest(lower, [...providerKinds.keys(), ...others.keys()])
}

/** The API that `wire_api` names. */
export const wireApis: ReadonlyMap<string, ApiName> = new Map([
  ["responses", "responses"],
  ["chat/completion", "chat"],
  ["chat/completions", "chat"],
  ["speech", "speech"],
  ["transcription", "transcription"],
])

/** OpenAI's own chat completions take fewer settings than those of others. */
export const ignoredByOpenAiChat: readonly string[] = ["top_k", "repeat_penalty"]
