import { providerKinds } from "../check/provider-kinds.ts"
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
  import: {
    text: "Takes declarations over from another file. The secrets that they need are bound in a block after the path.",
    snippet: 'import { ${1:model.fast} } from "./${2:common}.wire"',
  },
  workflow: {
    text: "Another file, to be called: `call workflow.name { input { … } }`, or as a model's tool in `uses`. Its secrets are bound in a block after the path.",
    snippet: 'workflow ${1:name} from "./${2:name}.wire"',
  },
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
  api: {
    text: "An HTTP API, whose methods and paths are declared as tools.",
    snippet: 'api ${1:name} {\n    endpoint: "${2:https://api.example.com/v1}"\n}',
  },
  tool: {
    text: "A tool of an MCP server or of an HTTP API. An agent may use it when it is listed in `uses`; a workflow calls it with `call tool.name`.",
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
  function: {
    text: 'A function of one\'s own: what it makes of its parameters, which are all that it sees. Call it as `name(…)` wherever an expression stands. Its code may be JavaScript: `function rank(rows: [number]): [number] from "./rank.js"`.',
    snippet: "function ${1:net}(${2:amount}: ${3:number}) = ${4:amount}",
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
  wait: {
    text: "The run waits for a time (`seconds`, `until`) or for an event that somebody sends, and holds nothing meanwhile. With `for … in …`, one wait for each item.",
    snippet:
      'wait ${1:paid} {\n    event: "${2:payment.settled}"\n    key: ${3:input.order}\n\n    output {\n        ${4:status}: string\n    }\n}',
  },
  limits: {
    text: "What the whole run may use at most: cost, tokens, calls, time. A call that does not fit any more fails the run.",
    snippet: "limits {\n    ${1:tokens}: ${2:200_000}\n}",
  },
  chat: {
    text: "Makes a conversation of the workflow: which input fields take the message and its history, and which output field is the reply. The server then offers it as a model to clients of OpenAI's APIs and of AG-UI.",
    snippet: "chat {\n    message: input.${1:question}\n    reply: output.${2:answer}\n}",
  },
  release: {
    text: "How much of the traffic of a workflow goes to this candidate, and when it stops. Only in a file `NAME.next.wire` beside `NAME.wire`.",
    snippet: "release {\n    share: ${1:0.05}\n    stop_when: ${2:failed > 0.1}\n}",
  },
  score: {
    text: "Judges each run after it has completed: with a value that is computed from what the run stored, or with a model that answers a question about it. It never changes or delays the run.",
    snippet: "score ${1:cites} {\n    value: ${2:length(output.${3:sources})}\n}",
  },
  schedule: {
    text: "Starts a run at each time that its cron expression names. For workflows that a service serves by name.",
    snippet: 'schedule ${1:daily} {\n    cron: "${2:0 9 * * 1-5}"\n    timezone: "${3:Europe/Berlin}"\n}',
  },
  webhook: {
    text: "Starts a run for each signed delivery to `POST /hooks/{workflow}/{name}`. For workflows that a service serves by name.",
    snippet:
      "webhook ${1:pushed} {\n    verify: ${2:github}\n    secret: secrets.${3:hook_secret}\n\n    input {\n        ${4:name}: body.${5:field}\n    }\n}",
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
  for: "Does the step once for each item of an array. Its value is then the array of its outputs, in the order of the items. In `[value for item in list]` it makes a value of each element.",
  in: "The array whose items the step is done for, or that the list is made from.",
  when: "Does the step only where the condition is true. Otherwise it is skipped, and its value is null. The same for a call: `call tool.t when condition { … }`. In a list it keeps the elements for which the condition is true.",
  by: "Sorts the elements of a list by a number or a string. Equal keys keep the order of the list.",
  descending: "The largest key first.",
  else: "What is said where the requirement does not hold: to the model, or to the person.",
  contains: "Whether a string has another in it, or an array an element equal to the value.",
  as: "The name that the import has here.",
  mcp: "A server that is declared with `mcp name { … }`.",
  api: "An HTTP API that is declared with `api name { … }`.",
  query: "The argument goes into the query of the address.",
  body: "The argument is the whole body, as JSON; the rest goes into the query.",
  header: "The argument goes into the header of that name.",
  status: "The tool gives the status, the headers and the body of every answer, whatever the status is.",
  match:
    "A value by the case of a variant, the member of an enum, or a boolean: each branch begins with what it takes, `_` is for the rest.",
  _: "The branch for all cases that have none of their own, and for null.",
  call: "Calls a tool. Its value is what the tool gives back.",
  read: "Reads a resource. Its value is the text, or the parsed JSON.",
  render: "Renders a prompt to text.",
  asset: "An image, document or video that is written into an instruction.",
  compact: "Summarises the history of the other agent by a model call before it is continued.",
  maybe: "The type or null. The field is still required.",
  map: "An object with any keys, whose values are of the type. `at(m, key)` reads one.",
  untrusted: "Strangers may have written it: it may not decide what a tool with effects does.",
  private: "Only what is cleared for private values may get it.",
  trust: "The value as it is, trusted, for the reason that is given.",
  release: "The value as it is, not private, for the reason that is given.",
  because: "Why the exception is right: a one-line text for whoever reviews the file.",
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
  file: "A stored file, with its `name`, `media_type` and `bytes`; `asset` shows it to a model, and `text_of` reads its text.",
}

/** What the names at the start of a reference stand for. */
export const rootTexts: Readonly<Record<string, string>> = {
  input: "A value of the request.",
  secrets: "A secret of the request.",
  agent: "The output of an agent; of one with `for`, the array of its outputs.",
  ask: "What a person answered; of a question with `for`, the array of answers.",
  wait: "The data of the event, or the time at which the wait ended; of a wait with `for`, the array of them.",
  dynamic: "A computed value: the agent's own, or one of the top level.",
  result:
    "In a requirement: the output of the agent, or the answer to the question, that is judged. In `until`: that of the round.",
  round: "In `until`: the number of the round, from 1.",
  previous:
    "In an agent that repeats: the output of the round before; null in the first. In a schedule: `output` and `due_at` of its last run that completed.",
  chat: "`chat.history`: the messages before the last one, with `role` and `content`.",
  run: "This run: its `id`, when it began (`started_at`), and the day of that (`date`), in UTC.",
  due: "When the run was due: `due.at` with the offset of the timezone, and `due.date`.",
  body: "The body of the delivery: parsed JSON, or the fields of a form. Its type is not known.",
  header: "A header of the delivery, or null. Headers are not signed: decide by `body`.",
  query: "A field of the address's query, or null. It is not signed: decide by `body`.",
  model: "A declared model.",
  tool: "An imported tool.",
  resource: "An imported resource.",
  prompt: "An imported prompt.",
  schema: "A declared schema, or the type of one of its fields.",
}

/** Words that a property or a head may name. */
export const wordTexts = {
  response_format: {
    auto: "The strictest way that the backend takes: a JSON schema, else JSON mode, else words.",
    json_schema: "The output contract goes as a JSON schema that the backend enforces.",
    json_object: "The backend gives any JSON object; the contract goes into the instruction.",
    instruction_only: "The contract goes into the instruction alone.",
  },
  prompt_cache: {
    auto: "The beginning that stays the same is kept where it is read again: in loops, in tool loops, and within five minutes.",
    none: "Nothing is marked for the backend's cache.",
    "1h": "What stays the same is kept for an hour: at OpenAI for twelve.",
  },
  on_failure: {
    fail: "The run fails with it.",
    skip: "Its value is null, and the run goes on.",
  },
  approval: {
    required: "Each call waits until a person approves it.",
    none: "Calls need no approval, unless the import or the batch demands one.",
  },
  elicitation: { ask: "People answer what the server asks during a call." },
  client_auth: {
    basic: "In the header `Authorization`, which is the default.",
    post: "In the body of the request for a token.",
  },
  nulls: { send: "Fields that are null are sent in bodies as null." },
  gives: {
    untrusted: "Strangers may have written what it gives.",
    trusted: "Strangers cannot write what it gives.",
    private: "Only what is cleared may get what it gives.",
  },
  requires: {
    trusted: "It acts on the world: strangers' words may neither choose nor fill its calls.",
    strict:
      "As `trusted`, and strangers may not choose among the author's values for it either: for money and deletion.",
    none: "It does nothing that matters.",
  },
  adds: { untrusted: "Strangers may have written its result.", private: "Its result is private." },
  demands: { trusted: "Strangers' words may neither choose nor fill its calls." },
  cleared: { private: "It may receive private values." },
  catch_up: {
    last: "The last time that was missed starts a run, if it is less than a day old.",
    none: "Times that were missed start no run.",
  },
  overlap: {
    skip: "A time whose predecessor still runs or waits starts no run.",
    allow: "Runs may overlap.",
    cancel: "The predecessor is cancelled first.",
  },
  verify: {
    standard: "Standard Webhooks, and GitLab's signing.",
    github: "GitHub's `X-Hub-Signature-256`.",
    stripe: "Stripe's `Stripe-Signature`.",
    slack: "Slack's `X-Slack-Signature`.",
    gitlab: "GitLab's `X-Gitlab-Token`.",
    hmac: "An HMAC of the body in a header that you name.",
  },
  encoding: { hex: "The default.", base64: "" },
  algorithm: { sha256: "The default.", sha512: "" },
  asset: {
    image: "A picture.",
    document: "A document, such as a PDF.",
    video: "A video.",
    audio: "Sound, such as wav or mp3.",
  },
  media: {
    image: "Images, of OpenAI's `/responses` and of Google.",
    audio: "Sound, of Google and of models that speak.",
  },
  wire_api: {
    responses: "OpenAI's `/responses`.",
    "chat/completion": "OpenAI's `/chat/completions`.",
    speech: "OpenAI's `/audio/speech`: the instruction is what is said.",
    transcription: "OpenAI's `/audio/transcriptions`: one audio asset becomes text.",
  },
  event_to: { all_callers: "Runs of all callers take the event." },
  boolean: { true: "", false: "" },
  level: { low: "", medium: "", high: "" },
  "provider-kind": Object.fromEntries([...providerKinds].map(([kind, { about }]) => [kind, about])),
  "remote-kind": remoteKinds,
} as const satisfies WordTexts

type WordTexts = { readonly [List in WordList]: Readonly<Record<WordOf<List>, string>> } & {
  readonly [List in "provider-kind" | "remote-kind"]: Readonly<Record<string, string>>
}

const bindings = "Arguments that the workflow sets: a model neither sees nor sets them."
const skippedCall =
  "`skip`: where it fails for good, its value is null and the run goes on. What ends a run always still does: its limits, a cancel."
const require = '`require condition else "text"`, without a colon, any number of times: what an '
const maxCalls = "Most calls in one run."
const approval =
  "`required`: each call waits until a person approves it. A block, `approval { to: … }`, says who and how long."
const gives =
  "The labels of what it gives: `untrusted`, `trusted`, `private`, or a list. If it names neither `trusted` nor `untrusted`: prompts, and tools that require trusted values, give trusted ones; all others give untrusted ones."
const requires =
  "`trusted`: it acts on the world, and strangers' words may neither choose nor fill its calls. `strict`: closed values that strangers chose do not satisfy it either. A list names the arguments that must be trusted. `none`: it does nothing that matters."
const givesAll = "The labels of what its tools, resources and prompts give, unless they say it themselves."
const cleared = "`private`: it may receive private values."
const expiresSeconds = "How long the question stays open; 7 days if left out."
const to = "A string: the group that should answer, or a label to filter by."
const headers = "HTTP headers that go with every call. They may hold secrets; one that is null is not sent."
const auth = "Signs in by OAuth client credentials, and sends the token as `Authorization`."
const inference = "Settings of the model calls. Those of the agent win over the model's, those over the provider's."
const promptCache =
  "Whether the backend keeps the beginning of the prompt that stays the same: `auto` (the default), `none`, or `\"1h\"`. An agent's own wins over its model's."
const hostedTools =
  'Tools that the provider runs while its model answers: `hosted_tools: [{ type: "web_search" }]`. The entries are sent as they are. What comes back is strangers\' words.'
const responseFormat =
  "How the output contract is put to the backend: `auto` (the default), `json_schema`, `json_object` or `instruction_only`."
const fileTexts = {
  name: "The name of the file, as the model sees it. Content that is a path names its file itself: `input.report`.",
  media_type: "The media type, such as `text/markdown`; what fits the name and the content if left out.",
}

/** What the properties of each block mean. What a row of the table says is put before it. */
const until =
  "The repetition ends when this holds. It sees `result`, the output of the last round, and `round`, its number from 1."
const atMost = "The repetition ends after so many rounds."
const called = {
  on_failure: skippedCall,
  concurrency: "Only in a list of calls: max calls of the list at a time, within the `max_concurrency` of the run.",
}
const calledFile = { input: "Fields of the file's `input`.", approval, ...called }

const propertyTexts: {
  readonly [Place in keyof PropertyNames]: Readonly<Record<PropertyNames[Place], string>>
} = {
  "file-import": {
    secrets:
      "Each secret that the other file's declarations need, as one of this file's: `api_key: secrets.openai_key`.",
  },
  workflow: {
    secrets: "Each secret that the file declares, as one of this file's: `api_key: secrets.openai_key`.",
    gives: "Labels that its result has besides those that the checker finds: `untrusted`, `private`.",
    requires: "`trusted`: strangers' words may neither choose nor fill its calls.",
  },
  provider: {
    endpoint:
      'The address of the backend, with `http://` or `https://`; that of the kind if left out. `"demo"` is this service\'s demo model.',
    api_key:
      "The key that goes with every call, as the API wants it. Declare it in `secrets { }`; it may be left out, or null.",
    headers,
    inference,
    wire_api: "Which of OpenAI's APIs the backend speaks; before its kind.",
    rate: "How fast all runs together may call this endpoint with these credentials. Calls beyond it wait for their turn.",
    cleared: "`private`: all of its models may receive private values.",
  },
  model: {
    id: "What the backend calls the model. It may refer to `input`.",
    inference,
    outputs: 'What the model makes for fields of type `file` or `[file]`: `["image"]` or `["audio"]`.',
    assets: 'The kinds of assets that the model takes: `["image", "document", "video", "audio"]`.',
    response_format: responseFormat,
    system: "The system text of its agents that have none of their own. It may refer to `input`.",
    prompt_cache: promptCache,
    hosted_tools: hostedTools,
    price: "What a million tokens cost, in one currency for the whole workflow.",
    wire_api: "Which of OpenAI's APIs it has; before its provider's.",
    cleared,
  },
  mcp: {
    endpoint: 'The address of the MCP server. `"demo"` is a small library in this service.',
    headers,
    auth,
    elicitation:
      "`ask`: what the server asks during a call of a tool becomes questions to people. A block, `elicitation { to: … }`, says to whom and how long. Without it the server cannot ask.",
    gives: givesAll,
    cleared: "`private`: all that is imported from it may receive private values.",
  },
  api: {
    endpoint:
      'The address that the paths of its tools are added to. `"demo"` is a small CRM in this service, for trying things out.',
    headers,
    auth,
    timeout_seconds: "How long each attempt of a call may take; 30 if left out.",
    max_retries: "How many times a call that failed is tried again, where that does no harm; 2 if left out.",
    gives: givesAll,
    cleared: "`private`: all of its tools may receive private values.",
  },
  "http-tool": {
    input: "The types of the tool's arguments. Those in the path are strings, numbers, booleans, enums or literals.",
    output:
      "The type of the answer, which is read as far as it is declared: other fields are left out, and a missing field that may be null is null. `output: status` gives `status`, `headers` and `body` of every answer.",
    bindings,
    max_calls: maxCalls,
    description: "The description of the tool that the model gets.",
    idempotent:
      "`true`: a POST or PATCH is tried again as other methods are, and made again after an interruption, with the same `Idempotency-Key`.",
    approval,
    send: 'Where arguments go that do not go where the method says: `query`, `body` (the whole of it) or `header "Name"`.',
    gives,
    requires,
    cleared,
    nulls: "`send`: fields that are null are sent in bodies as null. Otherwise they are left out.",
  },
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
    gives,
    requires,
    cleared,
  },
  resource: { bindings, gives, cleared },
  prompt: { bindings: "The arguments of the prompt.", gives, cleared },
  batch: {
    bindings: "Arguments that are filled in for every import of the block; an import's own win.",
    max_calls: "Most calls of each tool in one run; a tool's own limit wins.",
    approval: "`required`: each call of each tool of the block waits until a person approves it.",
  },
  agent: {
    model:
      "The model that does the step: `model.name`, with a block for settings of this agent alone. A list is tried in order: the next model goes on when one has failed for good. `match` chooses one, and so does the variable of a loop over models: `for m in [model.a, model.b]`.",
    instruction: "A string: the user message of the step.",
    system: "A string: the system text. It wins over the model's, and `context` does not carry it over.",
    output: "The fields that the model has to give, with their types. Doc comments (`///`) go to the model.",
    uses: "The tools, resources and prompts that the model may use. Nothing is offered unless it is listed. The `bindings`, `max_calls` and `approval` of an entry are for this agent.",
    context:
      "Continues the conversation of another agent: `agent.name`. `compact agent.name { model, instruction }` continues a summary, which a model writes first: this agent's, if none is named.",
    messages:
      "What was said before: a list of `{ role: enum { user, assistant }, content: string }`, sent as messages before the instruction. Messages of one role in a row are one, the instruction too.",
    repeat:
      "The agent runs again until `until` holds, at most `at_most` times. It sees `previous`, the output of the round before (null in the first); its value is that of the last round, `rounds(agent.name)` the list of all.",
    batch:
      "Only with `for`: the items go through the provider's batch API, which costs about half and may take a day. The run waits for them without holding anything.",
    require: `${require}output, \`result\`, must fulfil besides its type. One that does not is sent back to the model with the text after \`else\`.`,
    file: "A file that is attached to the step: a block, or its content, as in `file input.report`. May stand several times.",
    dynamic: "Values of this agent alone. In a loop they are computed for each item and see the loop's variables.",
    response_format: responseFormat,
    on_failure:
      "`skip`: when the agent fails for good, `agent.name` is null and the run goes on. `fail`, the default, ends the run.",
    concurrency: "Only with `for`: most items at a time, within the `max_concurrency` of the run.",
    max_steps: "Most model turns while the agent calls tools; 16 if left out.",
    prompt_cache: promptCache,
    hosted_tools: `${hostedTools} They come after those of the model.`,
    limits: "What the agent may use at most, over all of its iterations.",
  },
  "agent-batch": {
    within_hours:
      "Hours in which the items have to be done, from 2 to 168; 24 if left out. Half an hour before, what is left is called directly.",
  },
  "agent-repeat": {
    until,
    at_most: atMost,
  },
  input: {
    require:
      "A condition over `input` that a request must fulfil, besides the types. One that does not is refused with the text after `else`.",
  },
  ask: {
    question: "A string: what the person is asked.",
    output: "The fields of the answer, with their types. Doc comments (`///`) become the labels of the form.",
    show: "Any value, for the person to look at.",
    prefill: "Some of the answer's fields, which forms begin with: an answer that leaves one out takes it.",
    to,
    expires_seconds: "How long the question stays open, written out or computed; 7 days if left out.",
    on_expiry: "The answer that is used when nobody answers in time. Without it the run fails then, with a `timeout`.",
    concurrency: "Only with `for`: most questions that are open at a time. Without it all are asked at once.",
    require: `${require}answer, \`result\`, must fulfil besides its type. One that does not is refused with the text after \`else\`.`,
    cleared: "`private`: those whom `to` names may see private values.",
  },
  wait: {
    seconds: "How long it waits, from 0 to 7,776,000 seconds (90 days), written out or computed.",
    until:
      "In place of `seconds`: a string with an RFC 3339 time, at most 90 days ahead. One that has passed ends the wait at once.",
    event: "In place of `seconds`: the name of the event that ends the wait, written out.",
    key: "A string, at most 500 characters: which event of that name. The empty string where it is left out.",
    output: "The fields of the event's data, with their types.",
    after:
      "A step, or a list of steps, that must have ended before the wait begins, such as `agent.offer`. One that was skipped counts.",
    expires_seconds: "How long it waits for the event, written out or computed; 7 days if left out.",
    on_expiry: "The value when no event comes in time. Without it the run fails then, with a `timeout`.",
    gives: "`trusted`: whoever sends the event is trusted. An event's data is `untrusted` otherwise.",
  },
  approval: {
    question: "A string: what the person is asked, above the tool and its arguments.",
    show: "Any value, for the person to look at.",
    to,
    expires_seconds: expiresSeconds,
    cleared: "`private`: those whom `to` names may see private values.",
  },
  elicitation: {
    to,
    expires_seconds: expiresSeconds,
    cleared: "`private`: those whom `to` names may see private values.",
  },
  auth: {
    issuer: "The address of the authorization server, which publishes a token endpoint at the same address.",
    token_endpoint: "The address that gives tokens, where no issuer publishes it at its own address.",
    client_id: "The name of the client.",
    client_secret: "Its secret. Declare it in `secrets { }`.",
    private_key: "Its private key, in PEM (PKCS#8), for a signed assertion instead of a secret.",
    key_id: "The id of the key, where the server knows several.",
    algorithm: "The algorithm that the key signs by, such as `PS256`; by the kind of the key if left out.",
    scopes: "The scopes to ask for, an array of strings.",
    audience: "The audience to ask for.",
    resource: "The resource to ask for; of an MCP server its own address if left out.",
    client_auth: "How the secret is sent: `basic`, the default, or `post`.",
  },
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
    written:
      "The price of a million input tokens that the backend writes into its cache; that of `input` if left out, on Anthropic's API 1.25 times that.",
    batch: "A factor from 0 to 1 on all token prices of a call that is made in a batch; 1 if left out.",
    hosted: "The price of one use of a tool that the provider hosts, by type: `hosted { web_search: 0.01 }`.",
  },
  rate: {
    requests_per_minute: "Max requests in any 60 seconds.",
    tokens_per_minute: "Max tokens in any 60 seconds: what a call may use at most, corrected by what it has used.",
    concurrency: "Max calls at a time.",
  },
  limits: {
    cost: "Most that the model calls may cost, in the currency of the prices. Every model needs a `price`.",
    tokens: "Most tokens of all model calls, input and output.",
    model_calls: "Most requests to backends, retries and repairs included.",
    tool_calls: "Most tool calls and resource reads.",
    time_seconds: "Most seconds, without the time spent waiting for people.",
  },
  chat: {
    message: "The string field of `input` that takes the last message of the user.",
    reply: "The string field of `output` that is the answer.",
    history:
      "The field of `input` that takes the messages before it, of type `[{ role: enum { user, assistant }, text: string }]`.",
    system: "The `maybe string` field of `input` that takes the system text of the request.",
    files:
      "The `[file]` field of `input` that takes images, sound and files; or a `[string]` field, which takes their URLs and fetches nothing.",
  },
  release: {
    share: "The share of the runs by name that the candidate takes, from 0 to 1; none if left out.",
    by: "A value of `input` (a string, a number or a boolean): runs with the same value stay on the same side while the share grows. By run if left out.",
    shadow:
      "The share of the current version's completed runs that the candidate runs once more, without effects, from 0 to 1; none if left out.",
    agree_on: "Fields of `output` that a shadow is compared by, such as `[output.team]`; the whole output if left out.",
    stop_when:
      "A condition over `failed`, `cost`, `seconds`, `tokens`, `agreement`, `runs` and `scores.…` of the candidate, and `current.…` of the current version. Once it holds, the candidate gets no more traffic.",
  },
  score: {
    sample: "The share of the runs that are judged, from 0 to 1; all of them if left out.",
    value:
      "A boolean, a number or a value of an enum, computed from the input, the steps and the output. It costs nothing.",
    of: "What the judge is shown: an object made from the input, the steps and the output.",
    judge: "The question that a model answers about the run.",
    model: "The model that judges. It needs a `price`, and runs only where the server allows a cost for scores.",
    output:
      "What the judge answers: closed types (booleans, numbers, enums) and at most one string. The first closed field is the value of the score.",
  },
  schedule: {
    cron: "Five fields (minute, hour, day of month, month, weekday), or `@hourly`, `@daily`, `@weekly`, `@monthly`, `@yearly`.",
    timezone: "The timezone of the times, such as `Europe/Berlin`; UTC if left out.",
    catch_up: "What happens to times that were missed while no service ran.",
    overlap: "What happens at a time whose predecessor still runs or waits.",
    input:
      "The input of the run: literals, `due.at` and `due.date`, `previous.output` and `previous.due_at` of the last run that completed.",
  },
  webhook: {
    verify: "How the sender signs its deliveries.",
    secret: "The secret of the signature, or a list of them while one replaces the other: `secrets.name`.",
    when: "Which deliveries start a run: a condition on `body`.",
    input: "The input of the run, made from `body`, `header` and `query`.",
    event: "In place of `input`: the delivery is an event for runs that wait, and starts no run.",
    reply_within_seconds:
      "The sender gets the output of a run that completes within this time, 1 to 30 seconds. Otherwise, and without it, it gets 202 with the id of the run.",
  },
  "webhook-event": {
    name: "The name of the event, written out: that of the waits.",
    key: "A string, made from the delivery: which event of that name.",
    data: "What waits take, made from the delivery; null without it.",
    keep_seconds:
      "How long the event is kept when no open wait takes it, at most 604,800 seconds (7 days); 0 if left out.",
    to: "`all_callers`: runs of all callers take it. Without it those of the trigger caller alone.",
  },
  hmac: {
    header: "The header that holds the signature.",
    prefix: "The text before the signature in the header, such as `sha256=`.",
    encoding: "How the signature is written: `hex` or `base64`.",
    algorithm: "The hash: `sha256` or `sha512`.",
  },
  file: { content: "What is in the file: text as it is, any other value as JSON.", ...fileTexts },
  "short-file": fileTexts,
  use: {
    bindings,
    max_calls: maxCalls,
    approval,
    description: "What the model reads about it, in place of the description that it has.",
  },
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
    ...called,
  },
  "workflow-call": calledFile,
  repeat: {
    until,
    at_most: atMost,
    next: "Input fields of the next round that are not those of the last: `text: result.text`. Needed unless `at_most` is 1.",
    ...calledFile,
    input: "The input of the first round.",
  },
  read: { bindings: "The values of the variables in the resource's address.", ...called },
  render: { bindings: "The arguments of the prompt.", ...called },
  test: {
    samples: "How many times the test runs.",
    pass_rate: "The share of the samples that has to pass.",
  },
  asset: {
    type: 'What it is: `"image"`, `"document"`, `"video"` or `"audio"`; left out where the source or its media type tells it.',
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
