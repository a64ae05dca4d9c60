import type { DeclarationWord } from "../syntax/declaration-start.ts"
import type { PropertyNames, PropertyPlace, WordList, WordOf } from "../syntax/property-table.ts"
import { rowsOf } from "../syntax/property-table.ts"

// What the words of the language mean, in a sentence or two: for hovers and completions.

interface DeclarationText {
  readonly text: string
  readonly snippet: string
}

/** The words that begin a declaration. */
export const declarationTexts: Readonly<Record<DeclarationWord, DeclarationText>> = {
  input: {
    text: "The values that a request brings. Refer to one as `input.name`.",
    snippet: "input {\n    ${1:name}: ${2:string}\n}",
  },
  secrets: {
    text: "Sensitive values that a request brings. They may go to endpoints, keys, headers and bindings, never to a model or a caller.",
    snippet: "secrets {\n    ${1:api_key}: string\n}",
  },
  schema: {
    text: "A named type: fields, or one variant. Refer to it as `schema.name`.",
    snippet: "schema ${1:name} {\n    ${2:field}: ${3:string}\n}",
  },
  provider: {
    text: "A backend that models are called at, and how to reach it.",
    snippet:
      'provider ${1:llm} from openai {\n    endpoint: "${2:https://api.openai.com/v1}"\n    api_key: secrets.${3:api_key}\n}',
  },
  model: {
    text: "A model of a provider with its settings. Agents name it as `model.name`.",
    snippet: 'model ${1:fast} from ${2:llm} {\n    id: "${3:gpt-4.1-mini}"\n}',
  },
  mcp: {
    text: "An MCP server, from which tools, resources and prompts are imported.",
    snippet: 'mcp ${1:name} {\n    endpoint: "${2:https://example.com/mcp}"\n}',
  },
  tool: {
    text: "A tool of an MCP server. An agent may use it when it is listed in `uses`; a workflow calls it with `call tool.name`.",
    snippet: "tool ${1:name} from mcp.${2:server}.tool.${3:remote_name}",
  },
  resource: {
    text: "A resource of an MCP server. Read it with `read resource.name`.",
    snippet: "resource ${1:name} from mcp.${2:server}.resource.${3:remote_name}",
  },
  prompt: {
    text: "A prompt of an MCP server. Render it with `render prompt.name`.",
    snippet: "prompt ${1:name} from mcp.${2:server}.prompt.${3:remote_name}",
  },
  from: {
    text: "Imports several tools, resources and prompts of one MCP server.",
    snippet: "from mcp.${1:server} {\n    tool ${2:remote_name}\n}",
  },
  dynamic: {
    text: "Values that are computed from others. Each is a step of its own; refer to one as `dynamic.name`.",
    snippet: "dynamic {\n    ${1:name}: ${2:value}\n}",
  },
  agent: {
    text: "One step by a model: an instruction and the output that it has to give. With `for … in …`, one step for each item.",
    snippet:
      'agent ${1:name} {\n    model: model.${2:fast}\n    instruction: "${3:What to do}"\n\n    output {\n        ${4:answer}: string\n    }\n}',
  },
  ask: {
    text: "A question to a person, who answers with the fields of its `output`. The run waits for the answer. With `for … in …`, one question for each item.",
    snippet:
      'ask ${1:name} {\n    question: "${2:Is this right?}"\n\n    output {\n        ${3:right}: boolean\n    }\n}',
  },
  limits: {
    text: "What the whole run may use at most: cost, tokens, calls, time. A call that does not fit any more fails the run.",
    snippet: "limits {\n    ${1:tokens}: ${2:200_000}\n}",
  },
  output: { text: "The result of the workflow.", snippet: "output {\n    ${1:name}: ${2:value}\n}" },
}

const remoteKinds = {
  tool: "A tool of the server.",
  resource: "A resource of the server.",
  prompt: "A prompt of the server.",
}

/** Other words of the grammar. */
export const keywordTexts: Readonly<Record<string, string>> = {
  from: "Where it comes from: the kind of a provider, the provider of a model, the place on an MCP server.",
  for: "Does the step once for each item of an array. Its value is then the array of its outputs, in the order of the items.",
  in: "The array whose items the step is done for.",
  when: "Does the step only where the condition is true. Otherwise it is skipped, and its value is null.",
  contains: "Whether a string has another in it, or an array an element equal to the value.",
  as: "The name that the import has here.",
  mcp: "A server that is declared with `mcp name { … }`.",
  match:
    "A value by the case of a variant, the member of an enum, or a boolean: each branch begins with what it takes, `_` is for the rest.",
  _: "The branch for all cases that have none of their own, and for null.",
  call: "Calls a tool. Its value is what the tool gives back.",
  read: "Reads a resource. Its value is the text, or the parsed JSON.",
  render: "Renders a prompt to text.",
  asset: "An image, document or video that is written into an instruction.",
  compact: "Summarises the history of the other agent by a model call before it is continued.",
  maybe: "The type or null. The field is still required.",
  enum: "One of the names.",
  variant: "An object whose tag field names the case, and with it the other fields.",
  true: "A boolean.",
  false: "A boolean.",
  null: "No value.",
  ...remoteKinds,
}

export const typeTexts: Readonly<Record<string, string>> = {
  string: "Text.",
  boolean: "`true` or `false`.",
  null: "Nothing but null.",
  number: "A number.",
  float: "A number; the same as `number`.",
  integer: "A whole number.",
  object: "Any JSON object, with any fields.",
}

/** What the names at the start of a reference stand for. */
export const rootTexts: Readonly<Record<string, string>> = {
  input: "A value of the request.",
  secrets: "A secret of the request.",
  agent: "The output of an agent; of one with `for`, the array of its outputs.",
  ask: "What a person answered; of a question with `for`, the array of answers.",
  dynamic: "A computed value: the agent's own, or one of the top level.",
  model: "A declared model.",
  tool: "An imported tool.",
  resource: "An imported resource.",
  prompt: "An imported prompt.",
  schema: "A declared schema, or the type of one of its fields.",
}

const chat = "A backend with OpenAI-compatible chat completions"

/** Words that a property or a head may name. */
export const wordTexts = {
  response_format: {
    auto: "The strictest way that the backend takes: a JSON schema, else JSON mode, else words.",
    json_schema: "The output contract goes as a JSON schema that the backend enforces.",
    json_object: "The backend gives any JSON object; the contract goes into the instruction.",
    instruction_only: "The contract goes into the instruction alone.",
  },
  on_failure: {
    fail: "The run fails with the agent.",
    skip: "The agent's value is null, and the run goes on.",
  },
  approval: {
    required: "Each call waits until a person approves it.",
    none: "Calls need no approval, unless the import or the batch demands one.",
  },
  asset: {
    image: "A picture.",
    document: "A document, such as a PDF.",
    video: "A video.",
  },
  wire_api: {
    responses: "OpenAI's `/responses`.",
    "chat/completion": "OpenAI's `/chat/completions`.",
  },
  boolean: { true: "", false: "" },
  level: { low: "", medium: "", high: "" },
  "provider-kind": {
    openai: "Any backend with an OpenAI-compatible `/responses`.",
    openai_compatible: "The same as `openai`.",
    openai_chat: `${chat}; OpenAI's own if no \`endpoint\` is set.`,
    anthropic: "Anthropic's API, `/messages`.",
    anthropic_compatible: "A backend that speaks Anthropic's API, at its `endpoint`.",
    google: "Google's Gemini API, `generateContent`.",
    ollama: `${chat}: Ollama on this machine.`,
    lmstudio: `${chat}: LM Studio on this machine.`,
    vllm: `${chat}: vLLM on this machine.`,
    llamacpp: `${chat}: llama.cpp on this machine.`,
    openrouter: `${chat}: OpenRouter.`,
    groq: `${chat}: Groq.`,
    mistral: `${chat}: Mistral.`,
    deepseek: `${chat}: DeepSeek.`,
    xai: `${chat}: xAI.`,
    together: `${chat}: Together.`,
    fireworks: `${chat}: Fireworks.`,
    cerebras: `${chat}: Cerebras.`,
    perplexity: `${chat}: Perplexity.`,
    cohere: `${chat}: Cohere.`,
    sambanova: `${chat}: SambaNova.`,
  },
  "remote-kind": remoteKinds,
} as const satisfies WordTexts

type WordTexts = { readonly [List in WordList]: Readonly<Record<WordOf<List>, string>> } & {
  readonly [List in "provider-kind" | "remote-kind"]: Readonly<Record<string, string>>
}

const bindings = "Arguments that the workflow sets: a model neither sees nor sets them."
const maxCalls = "Most calls in one run."
const approval =
  "`required`: each call waits until a person approves it. A block, `approval { to: … }`, says who and how long."
const expiresSeconds = "How long the question stays open; 7 days if left out."
const to = "A string: the group that should answer, or a label to filter by."
const headers = "HTTP headers that go with every call. They may hold secrets; one that is null is not sent."
const inference = "Settings of the model calls. Those of the agent win over the model's, those over the provider's."
const responseFormat =
  "How the output contract is put to the backend: `auto` (the default), `json_schema`, `json_object` or `instruction_only`."
const fileTexts = {
  name: "The name of the file, as the model sees it. Content that is a path names its file itself: `input.report`.",
  media_type: "The media type, such as `text/markdown`; what fits the name and the content if left out.",
}

/** What the properties of each block mean. What a row of the table says is put before it. */
export const propertyTexts: {
  readonly [Place in keyof PropertyNames]: Readonly<Record<PropertyNames[Place], string>>
} = {
  provider: {
    endpoint:
      'The address of the backend, with `http://` or `https://`; that of the kind if left out. `"demo"` is this service\'s demo model.',
    api_key:
      "The key that goes with every call, as the API wants it. Declare it in `secrets { }`; it may be left out, or null.",
    headers,
    inference,
    wire_api: "Which of OpenAI's APIs the backend speaks. It wins over the kind.",
  },
  model: {
    id: "What the backend calls the model. It may refer to `input`.",
    inference,
    assets: 'The kinds of assets that the model takes: `["image", "document", "video"]`.',
    response_format: responseFormat,
    system: "The system text of its agents that have none of their own. It may refer to `input`.",
    price: "What a million tokens cost, in one currency for the whole workflow.",
    wire_api: "Which of OpenAI's APIs the model is called by. It wins over the provider's.",
  },
  mcp: { endpoint: 'The address of the MCP server. `"demo"` is a small library in this service.', headers },
  tool: {
    input: "The types of the tool's arguments: all of them, or those that are not bound.",
    output:
      "The type of its result, which is read as far as it is declared: other fields are left out, and a missing field that may be null is null. Without it a result is untyped unless the server publishes a type.",
    bindings,
    max_calls: maxCalls,
    description: "The description of the tool that the model gets, instead of the server's.",
    idempotent: "`true`: a call that was interrupted is made again.",
    pin: "The hash of the definition that the server publishes: another one fails the run.",
    approval,
  },
  resource: { bindings },
  prompt: { bindings: "The arguments of the prompt." },
  batch: {
    bindings: "Arguments that are filled in for every import of the block; an import's own win.",
    max_calls: "Most calls of each tool in one run; a tool's own limit wins.",
    approval: "`required`: each call of each tool of the block waits until a person approves it.",
  },
  agent: {
    model:
      "The model that does the step: `model.name`, with a block for settings of this agent alone. A list is tried in order: the next model goes on when one has failed for good.",
    instruction: "A string: the user message of the step.",
    system: "A string: the system text. It wins over the model's, and `context` does not carry it over.",
    output: "The fields that the model has to give, with their types. Doc comments (`///`) go to the model.",
    uses: "The tools, resources and prompts that the model may use. Nothing is offered unless it is listed. The `bindings`, `max_calls` and `approval` of an entry are for this agent.",
    context:
      "Continues the conversation of another agent: `agent.name`. `compact agent.name { model, instruction }` continues a summary, which a model writes first: this agent's, if none is named.",
    file: "A file that is attached to the step: a block, or its content, as in `file input.report`. May stand several times.",
    dynamic: "Values of this agent alone. In a loop they are computed for each item and see the loop's variables.",
    response_format: responseFormat,
    on_failure:
      "`skip`: when the agent fails for good, `agent.name` is null and the run goes on. `fail`, the default, ends the run.",
    max_steps: "Most model turns while the agent calls tools; 16 if left out.",
    limits: "What the agent may use at most, over all of its iterations.",
  },
  ask: {
    question: "A string: what the person is asked.",
    output: "The fields of the answer, with their types. Doc comments (`///`) become the labels of the form.",
    show: "Any value, for the person to look at.",
    to,
    expires_seconds: expiresSeconds,
    on_expiry: "The answer that is used when nobody answers in time. Without it the run fails then, with a `timeout`.",
  },
  approval: { to, expires_seconds: expiresSeconds },
  inference: {
    temperature: "How freely the model chooses its words: 0 for the likeliest.",
    top_p: "Chooses among the likeliest words that together have this probability.",
    top_k: "Chooses among this many of the likeliest words.",
    frequency_penalty: "Makes words less likely the more often they were used.",
    presence_penalty: "Makes words less likely that were used at all.",
    repeat_penalty: "Makes repetitions less likely: 1 changes nothing.",
    max_tokens: "Most tokens of an answer. Sent as `max_output_tokens`.",
    reasoning_effort: "How long a reasoning model thinks, such as `low`, `medium`, `high`. Sent as `reasoning.effort`.",
    verbosity: "How long the answers are, such as `low`, `medium`, `high`. Sent as `text.verbosity`.",
    seed: "The same seed asks the backend for the same answer.",
    stop: "The text, or the texts, at which the model stops.",
    timeout_seconds: "How long one model call may take. Not sent.",
    max_retries: "How many times a failed call is tried again. Not sent.",
    retry_base_delay_ms: "The wait before the first retry; it doubles with each. Not sent.",
    output_retries: "How many times the model is asked again when its answer does not fit the output. Not sent.",
    extra:
      "Further fields of the request, sent as they are, never over `model`, `input`, `tools`, `stream` or `text.format`.",
  },
  price: {
    input: "The price of a million input tokens.",
    cached: "The price of a million input tokens that the backend had cached; that of `input` if left out.",
    output: "The price of a million output tokens, reasoning included.",
  },
  limits: {
    cost: "Most that the model calls may cost, in the currency of the prices. Every model needs a `price`.",
    tokens: "Most tokens of all model calls, input and output.",
    model_calls: "Most requests to backends, retries and repairs included.",
    tool_calls: "Most tool calls and resource reads.",
    time_seconds: "Most seconds, without the time spent waiting for people.",
  },
  file: { content: "What is in the file: text as it is, any other value as JSON.", ...fileTexts },
  "short-file": fileTexts,
  use: { bindings, max_calls: maxCalls, approval },
  "configured-model": { inference: "Settings for this agent alone." },
  compact: {
    model: "The model that writes the summary, or a list of models to try in order; the agent's own if left out.",
    instruction: "What the summary has to keep.",
  },
  call: {
    input: "The arguments of the call.",
    bindings: "Arguments that may hold secrets; they win over those of `input`.",
    max_calls: maxCalls,
    approval,
  },
  read: { bindings: "The values of the variables in the resource's address." },
  render: { bindings: "The arguments of the prompt." },
  test: {
    samples: "How many times the test runs.",
    pass_rate: "The share of the samples that has to pass.",
  },
  asset: {
    type: 'What it is: `"image"`, `"document"` or `"video"`; left out where the source or its media type tells it.',
    media_type: "The media type, such as `image/png`.",
    title: "The title that the model gets.",
    context: "What the model should know of a document. Anthropic's API has it.",
    citations: "`true`: the model's answer cites the document. Anthropic's API has it.",
  },
}

/** What there is to say about a property: whether it is required, what it may be, what it means. */
export function propertyText(place: PropertyPlace, name: string): string | undefined {
  const row = rowsOf(place).get(name)
  if (row === undefined || place === "unknown") return undefined
  const expected = row.constant?.expected ?? ""
  const rule =
    row.form === "expression" && expected !== "" ? `${expected.charAt(0).toUpperCase()}${expected.slice(1)}.` : ""
  const text = lookUp<string>(propertyTexts[place], name) ?? ""
  return [row.required === undefined ? "" : "Required.", rule, text].filter((part) => part !== "").join(" ")
}

/** The entry of a table under a name that an author wrote. */
export function lookUp<T>(table: Readonly<Record<string, T>>, name: string): T | undefined {
  return Object.hasOwn(table, name) ? table[name] : undefined
}
