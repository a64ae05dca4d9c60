import type { Group } from "../../server/groups.ts"
import { availableParallelism } from "node:os"
import { didYouMean } from "../../base/did-you-mean.ts"
import { parseDuration } from "../../base/parse-duration.ts"
import { erasePath } from "../../ports/erasure.ts"
import { parseSize } from "../../base/parse-size.ts"

/** One setting of the service: `WIRE_<env>` in the environment, `--<env in kebab-case>` on the command line. */
interface Setting<Value, Preset extends string | undefined = string | undefined> {
  /** The variable's name without `WIRE_`. */
  readonly env: string
  readonly description: string
  /** The text that a user would write; undefined where the setting has no value unless it is given. */
  readonly default: Preset
  /** Holds a secret: its value is never repeated in a message. */
  readonly secret?: boolean
  /** One of the eight that people set first: the README has it. */
  readonly first?: boolean
  /** The page of docs/ that explains it. */
  readonly see?: string
  /** The value, or what it must be: the end of a sentence that begins with "it must be". */
  parse(text: string): { readonly value: Value } | { readonly mustBe: string }
}

function setting<Value, Preset extends string | undefined>(
  env: string,
  parse: Setting<Value>["parse"],
  preset: Preset,
  description: string,
  more: Pick<Setting<Value>, "secret" | "first" | "see"> = {},
): Setting<Value, Preset> {
  return { env, parse, default: preset, description, ...more }
}

const text = (value: string) => ({ value })

const list = (value: string) => ({
  value: value
    .split(",")
    .map((item) => item.trim())
    .filter((item) => item !== ""),
})

const listOf = (item: RegExp, mustBe: string) => (written: string) => {
  const { value } = list(written)
  return value.every((entry) => item.test(entry)) ? { value } : { mustBe }
}

const hostNames = listOf(
  /^(?:[A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\])(?::\d{1,5})?$/,
  "names such as wire.example.com, with commas between them",
)

/** Origins as browsers send them: a page's scheme, host and port, without a path. */
const origins = listOf(
  /^(?:\*|[a-z][a-z0-9+.-]*:\/\/[^\s/?#A-Z]+)$/,
  "origins such as https://app.example.com, without a path, with commas between them",
)

const wholeNumber = (least: number, most: number) => (written: string) => {
  const value = /^\d{1,15}$/.test(written) ? Number(written) : Number.NaN
  return value >= least && value <= most ? { value } : { mustBe: `a whole number from ${least} to ${most}` }
}

const processes = (written: string) => {
  if (written === "auto") return { value: availableParallelism() }
  const number = wholeNumber(1, 256)(written)
  return "value" in number ? number : { mustBe: `${number.mustBe}, or auto` }
}

const erasePaths = (written: string) => {
  const { value } = list(written)
  if (value.every((path) => erasePath.test(path))) return { value: [...new Set(value)] }
  return { mustBe: "paths such as input.customer, with commas between them" }
}

/** An amount of money. */
const amount = (written: string) => {
  const value = /^\d+(\.\d+)?$/.test(written) ? Number(written) : Number.NaN
  return value <= 1_000_000_000 ? { value } : { mustBe: "an amount such as 0, 2 or 0.50" }
}

/** Where traces are shown. */
const traceUrl = (written: string) =>
  URL.canParse(written) && /^https?:\/\//.test(written) && written.includes("{trace_id}")
    ? { value: written }
    : { mustBe: "an http or https URL with {trace_id} in it" }

const duration = (written: string) => {
  const value = parseDuration(written)
  return value === undefined ? { mustBe: "a duration such as 500ms, 30s, 15m, 1h or 7d" } : { value }
}

const someTime = (written: string) => {
  const read = duration(written)
  return "value" in read && read.value === 0 ? { mustBe: "a duration above 0" } : read
}

const size = (least: number) => (written: string) => {
  const value = parseSize(written) ?? -1
  return value < least ? { mustBe: "a size such as 512kb or 8mb" } : { value }
}

const prefix = (written: string) =>
  /^[A-Za-z0-9_-]{1,32}$/.test(written) ? { value: written } : { mustBe: "up to 32 letters, digits, - and _" }

const oneOf =
  <const Word extends string>(...words: Word[]) =>
  (written: string): { value: Word } | { mustBe: string } => {
    const value = words.find((word) => word === written)
    return value === undefined ? { mustBe: `${words.slice(0, -1).join(", ")} or ${words.at(-1)}` } : { value }
  }

const onOrOff = (written: string) => {
  const word = oneOf("on", "off")(written)
  return "value" in word ? { value: word.value === "on" } : word
}

export interface ApiKey {
  /** The caller; a name may have two keys, for rotation. */
  readonly name: string
  readonly key: string
}

function apiKeys(written: string): { value: ApiKey[] } | { mustBe: string } {
  const keys: ApiKey[] = []
  for (const entry of list(written).value) {
    const [, name, key] = /^([A-Za-z0-9_.-]+):(\S+)$/.exec(entry) ?? []
    if (name === undefined || key === undefined) return { mustBe: "name:key, several with commas between them" }
    if (keys.filter((other) => other.name === name).length === 2)
      return { mustBe: `a list with at most two keys for ${name}` }
    if (keys.some((other) => other.key === key)) return { mustBe: "a list without repeated keys" }
    keys.push({ name, key })
  }
  // An operator who sets it does not want a service without keys.
  return keys.length === 0 ? { mustBe: "name:key, several with commas between them" } : { value: keys }
}

/** Who answers questions to a group: names of keys. */
function groups(written: string): { value: Group[] } | { mustBe: string } {
  const found: Group[] = []
  for (const entry of list(written).value) {
    const [, name, members] = /^([^\s:+,]+):([A-Za-z0-9_.-]+(?:\+[A-Za-z0-9_.-]+)*)$/.exec(entry) ?? []
    if (name === undefined || members === undefined) {
      return { mustBe: "group:name+name, several with commas between them" }
    }
    if (found.some((other) => other.name === name)) return { mustBe: `a list that names the group ${name} once` }
    found.push({ name, members: members.split("+") })
  }
  return { value: found }
}

/** Where notifications may go. As `URL.origin` writes them, so that a port that is the usual one makes no difference. */
const notifyOrigins = (written: string) => {
  const { value } = list(written)
  const found = value.map((item) =>
    /^https?:\/\/[^\s/?#@]+\/?$/i.test(item) ? (URL.parse(item)?.origin ?? null) : null,
  )
  return found.every((origin) => origin !== null)
    ? { value: found }
    : { mustBe: "origins such as https://app.example.com, without a path, with commas between them" }
}

/** The bytes of one or two secrets of Standard Webhooks. */
const webhookSecrets = (written: string) => {
  const secrets = list(written).value.map((item) => {
    const [, base64] = /^whsec_([A-Za-z0-9+/]+={0,2})$/.exec(item) ?? []
    return base64 === undefined ? new Uint8Array(0) : new Uint8Array(Buffer.from(base64, "base64"))
  })
  const fits = secrets.length >= 1 && secrets.length <= 2 && secrets.every(({ length }) => length >= 16 && length <= 64)
  return fits
    ? { value: secrets }
    : { mustBe: "whsec_ and 16 to 64 random bytes in Base64, or two such with a comma between them" }
}

const metricsKey = (written: string) =>
  /^\S+$/.test(written) ? { value: written } : { mustBe: "a key without spaces" }

/** Settings by what they are about, in the order of the documentation. */
export const settingGroups = {
  "Where it listens": {
    host: setting("HOST", text, "127.0.0.1", "address to listen on", { first: true }),
    port: setting("PORT", wholeNumber(0, 65_535), "13703", "port to listen on; 0 takes a free one", { first: true }),
    processes: setting(
      "PROCESSES",
      processes,
      "1",
      "processes that serve it together on this machine: a number, or auto for one on each core",
      { see: "operations.md#several-processes" },
    ),
  },
  Workflows: {
    workflows: setting(
      "WORKFLOWS",
      text,
      undefined,
      "folder whose .wire files are served by name; also wire serve FOLDER",
      { first: true, see: "workflows.md" },
    ),
    secretsFile: setting(
      "SECRETS_FILE",
      text,
      undefined,
      "JSON file, mode 0600, with secrets for workflows of the folder; single ones as WIRE_SECRET_NAME",
      { see: "workflows.md#secrets-of-the-server" },
    ),
    triggerCaller: setting(
      "TRIGGER_CALLER",
      text,
      undefined,
      "name of the caller that runs of schedules and webhooks belong to, where there are keys",
      { see: "triggers.md" },
    ),
    playground: setting("PLAYGROUND", onOrOff, "on", "serve the playground: on or off", { see: "playground.md" }),
    demo: setting("DEMO", onOrOff, "on", "serve the demo model: on or off"),
    demoBatchSeconds: setting(
      "DEMO_BATCH_SECONDS",
      wholeNumber(0, 86_400),
      "5",
      "seconds that a batch of the demo model takes",
    ),
  },
  "Where runs are kept": {
    store: setting("STORE", text, "sqlite", "sqlite, memory, or postgres://user:password@host/database", {
      first: true,
      see: "deploy.md#which-store",
    }),
    dataDir: setting("DATA_DIR", text, "./data", "folder of the database and its key", { first: true }),
    encryptionKey: setting(
      "ENCRYPTION_KEY",
      text,
      undefined,
      "32 bytes in Base64 or hex; without it a key file is made in the data folder",
      { secret: true },
    ),
    encryptionKeyOld: setting(
      "ENCRYPTION_KEY_OLD",
      text,
      undefined,
      "the key that WIRE_ENCRYPTION_KEY replaces, for `wire store change-key`",
      { secret: true, see: "operations.md#changing-the-encryption-key" },
    ),
    retention: setting("RETENTION", duration, "7d", "how long ended runs are kept", { first: true }),
    privateRetention: setting(
      "PRIVATE_RETENTION",
      duration,
      undefined,
      "how long what runs of workflows with private values were given and made is kept: then their records keep status, times, usage and scores (default WIRE_RETENTION)",
      { see: "operations.md#private-values" },
    ),
    erasePaths: setting(
      "ERASE_PATHS",
      erasePaths,
      "",
      "paths of inputs such as input.customer, with commas between them: runs are indexed by keyed hashes of their values there, so that `wire erase` finds them fast",
      { see: "operations.md#erasing" },
    ),
    versionRetention: setting(
      "VERSION_RETENTION",
      duration,
      "30d",
      "how long a version of a workflow is kept that does not serve and has no runs",
      { see: "workflows.md#versions" },
    ),
    versionCallable: setting(
      "VERSION_CALLABLE",
      duration,
      "24h",
      "how long callers may execute a version that does not serve any more",
      { see: "workflows.md#versions" },
    ),
    scoreCostPerDay: setting(
      "SCORE_COST_PER_DAY",
      amount,
      "0",
      "most that judges of scores may cost on a day (UTC), in the currency of the prices; 0: computed scores only",
      { see: "scores.md#judges" },
    ),
    shadowCostPerDay: setting(
      "SHADOW_COST_PER_DAY",
      amount,
      "0",
      "most that shadows of candidates may cost on a day (UTC), in the currency of the prices; 0: no shadows",
      { see: "releases.md#shadows" },
    ),
    keepRequests: setting(
      "KEEP_REQUESTS",
      onOrOff,
      "on",
      "keep the requests of model calls and tool calls with their run: on or off",
    ),
    files: setting(
      "FILES",
      text,
      undefined,
      "where files are kept: a folder, s3://bucket/prefix?endpoint=https://…&region=…, or none; files in the data folder unless set",
      { see: "files.md#where-files-are-kept" },
    ),
    filesAccessKey: setting("FILES_ACCESS_KEY", text, undefined, "id of the access key of that bucket"),
    filesSecretKey: setting("FILES_SECRET_KEY", text, undefined, "the access key's secret", { secret: true }),
    fileRetention: setting("FILE_RETENTION", someTime, "24h", "how long files are kept that no run refers to"),
    cacheTtl: setting("CACHE_TTL", duration, "1h", "how long cached answers live"),
  },
  PostgreSQL: {
    postgresCa: setting(
      "POSTGRES_CA",
      text,
      undefined,
      "file of the authority that the server's certificate is checked against",
    ),
    postgresCert: setting(
      "POSTGRES_CERT",
      text,
      undefined,
      "file of our own certificate, where the server asks for one",
    ),
    postgresKey: setting("POSTGRES_KEY", text, undefined, "file of that certificate's key"),
    postgresSchema: setting("POSTGRES_SCHEMA", prefix, "wire", "schema of the database that holds our tables"),
  },
  "Who may call": {
    apiKeys: setting(
      "API_KEYS",
      apiKeys,
      undefined,
      "keys of the callers; without any, everyone who can reach the service can use it",
      { first: true, secret: true, see: "http.md#callers" },
    ),
    operatorKeys: setting(
      "OPERATOR_KEYS",
      apiKeys,
      undefined,
      "keys that see, cancel and delete the runs of all callers, and start and answer none",
      { secret: true, see: "operations.md#operators" },
    ),
    metricsKey: setting("METRICS_KEY", metricsKey, undefined, "key that opens /metrics and nothing else", {
      secret: true,
    }),
    groups: setting("GROUPS", groups, "", "who answers questions to a group: editors:ann+bob, names of keys", {
      see: "people.md",
    }),
    allowedHosts: setting("ALLOWED_HOSTS", hostNames, "", "names that browsers may reach the service under"),
    allowedOrigins: setting("ALLOWED_ORIGINS", origins, "", "other sites whose pages may call the service"),
  },
  "What it may call": {
    egress: setting(
      "EGRESS",
      text,
      undefined,
      "where workflows may call: private, public, or hosts with commas between them",
      { first: true, see: "deploy.md#before-anyone-else-can-reach-it" },
    ),
    notifyOrigins: setting(
      "NOTIFY_ORIGINS",
      notifyOrigins,
      "",
      "where runs may send notifications, as origins with commas between them",
      {
        see: "http.md#notifications",
      },
    ),
    notifySecret: setting(
      "NOTIFY_SECRET",
      webhookSecrets,
      undefined,
      "what notifications are signed with; two while one replaces the other",
      { secret: true },
    ),
    traceHosts: setting(
      "TRACE_HOSTS",
      text,
      "none",
      "backends that get a run's trace headers: none, all, or hosts with commas between them",
      { see: "operations.md#traces" },
    ),
    traceUrl: setting(
      "TRACE_URL",
      traceUrl,
      undefined,
      "where a trace is shown, with {trace_id} in it: the records of runs have it as a link",
      { see: "operations.md#traces" },
    ),
    traceContent: setting(
      "TRACE_CONTENT",
      oneOf("none", "public", "all"),
      "none",
      "what traces show of texts and values: nothing, what is proven not to be private, or all but secrets",
      { see: "operations.md#content-in-traces" },
    ),
    traceUnmarked: setting(
      "TRACE_CONTENT_UNMARKED",
      oneOf("none", "all"),
      "none",
      "with WIRE_TRACE_CONTENT=public, what traces show of files that mark nothing as private: none or all",
      { see: "operations.md#content-in-traces" },
    ),
  },
  Limits: {
    maxRuns: setting("MAX_RUNS", wholeNumber(1, 1_000_000), "1000", "most runs at a time"),
    maxRunsPerCaller: setting(
      "MAX_RUNS_PER_CALLER",
      wholeNumber(1, 1_000_000),
      undefined,
      "most runs at a time of one caller, and the caller's share of the queue; half of them where there are several callers",
    ),
    maxFile: setting("MAX_FILE", size(1), "64mb", "most bytes of a file"),
    maxFilesPerCaller: setting("MAX_FILES_PER_CALLER", size(1), "4gb", "most bytes of the files of one caller"),
    maxQueued: setting("MAX_QUEUED", wholeNumber(0, 1_000_000), "1000", "most runs that wait for their turn"),
    maxWaiting: setting(
      "MAX_WAITING",
      wholeNumber(1, 100_000_000),
      "10000",
      "most runs of one caller that wait for people",
    ),
    maxIterations: setting(
      "MAX_ITERATIONS",
      wholeNumber(1, 1_000_000_000),
      "10000",
      "most items of one loop, and of one list that calls",
    ),
    maxCalled: setting(
      "MAX_CALLED",
      wholeNumber(1, 1_000_000_000),
      "10000",
      "most workflows that one run calls, nested ones included",
    ),
    code: setting(
      "CODE",
      oneOf("served", "all", "none"),
      "served",
      "which workflows may have functions in JavaScript: those of the folder, also those that callers send, none",
      { see: "code.md" },
    ),
    codeMs: setting("CODE_MS", wholeNumber(1, 600_000), "1000", "milliseconds of CPU that one call of code may take"),
    codeMsPerRun: setting(
      "CODE_MS_PER_RUN",
      wholeNumber(1, 86_400_000),
      "10000",
      "milliseconds of CPU that the code of a run may take",
    ),
    maxRunTime: setting(
      "MAX_RUN_TIME",
      someTime,
      "24h",
      "longest time that a workflow (limits { time_seconds }) or a request (timeout_ms) may ask for",
      { see: "cost-and-limits.md#limits" },
    ),
    prices: setting(
      "PRICES",
      text,
      undefined,
      "JSON file with prices of models that have none in their workflow, by endpoint and model id",
      { see: "cost-and-limits.md#prices-of-the-operator" },
    ),
    rates: setting(
      "RATES",
      text,
      undefined,
      "JSON file with the most requests, tokens and calls at a time that endpoints get, by endpoint",
      { see: "cost-and-limits.md#rates" },
    ),
    budgets: setting(
      "BUDGETS",
      text,
      undefined,
      "JSON file with what callers and workflows may use in an hour, a day or a month; read again when it changes",
      { see: "cost-and-limits.md#budgets" },
    ),
    maxBody: setting("MAX_BODY", size(1), "8mb", "largest request; a workflow's source has at most 1 MiB"),
    maxRunLog: setting("MAX_RUN_LOG", size(1), "512mb", "largest log of one run"),
    maxRunMemory: setting(
      "MAX_RUN_MEMORY",
      size(1),
      "128mb",
      "most memory of the values that one run keeps: dynamic values, outputs, conversations",
    ),
    maxStoredPerCaller: setting(
      "MAX_STORED_PER_CALLER",
      size(0),
      undefined,
      "most bytes of the store that the runs of one caller take, 0 for no limit; half of it where there are several callers",
      { see: "security.md#limits" },
    ),
    rateLimit: setting(
      "RATE_LIMIT",
      wholeNumber(0, 1_000_000),
      "1000",
      "requests per second and key, per address without one; 0 is no limit",
    ),
  },
  Logs: {
    auditFile: setting(
      "AUDIT_FILE",
      text,
      undefined,
      "file for the audit trail, each line with the hash of the one before it",
      { see: "operations.md#audit-trail" },
    ),
    logLevel: setting(
      "LOG_LEVEL",
      oneOf("trace", "debug", "info", "warn", "error", "fatal", "silent"),
      "info",
      "least severe message that is logged: trace, debug, info, warn, error, fatal or silent",
      { see: "operations.md" },
    ),
  },
} as const satisfies Record<string, Record<string, Setting<unknown>>>

export const settingTable = {
  ...settingGroups["Where it listens"],
  ...settingGroups.Workflows,
  ...settingGroups["Where runs are kept"],
  ...settingGroups.PostgreSQL,
  ...settingGroups["Who may call"],
  ...settingGroups["What it may call"],
  ...settingGroups.Limits,
  ...settingGroups.Logs,
}

type Table = typeof settingTable
type SettingName = keyof Table
type ValueOf<Name extends SettingName> = Extract<ReturnType<Table[Name]["parse"]>, { value: unknown }>["value"]

/** The service's settings; undefined where one has no default and was not given. */
export type Settings = TableSettings & {
  /** Secrets for the workflows of the folder: `WIRE_SECRET_…`, by the rest of their names. */
  readonly secretVariables: Readonly<Record<string, string>>
}

type TableSettings = {
  readonly [Name in SettingName]: Table[Name]["default"] extends string ? ValueOf<Name> : ValueOf<Name> | undefined
}

export type SettingsRead =
  | { readonly settings: Settings; readonly wrong: readonly []; readonly unknown: readonly string[] }
  /** A sentence for each wrong value. */
  | { readonly settings: null; readonly wrong: readonly string[]; readonly unknown: readonly string[] }

/**
 * Reads all settings: a flag wins over the variable, an empty variable counts as not set. `unknown` has a sentence for each
 * `WIRE_` variable that is not a setting.
 */
export function readSettings(
  environment: Readonly<Record<string, string | undefined>>,
  flags: Readonly<Record<string, string | undefined>>,
): SettingsRead {
  const values: Record<string, unknown> = {}
  const wrong: string[] = []
  for (const [name, entry] of Object.entries<Setting<unknown>>(settingTable)) {
    const flag = flags[name]
    const variable = environment[`WIRE_${entry.env}`]
    const given = flag ?? (variable === "" ? undefined : variable)
    const written = given ?? entry.default
    if (written === undefined) {
      values[name] = undefined
      continue
    }
    const parsed = entry.parse(written)
    if ("value" in parsed) values[name] = parsed.value
    else {
      const source = flag === undefined ? `WIRE_${entry.env}` : flagOf(entry.env)
      wrong.push(`${source} is ${entry.secret === true ? "wrong" : `"${written}"`}: it must be ${parsed.mustBe}.`)
    }
  }
  const shared = sharedKey(values)
  if (shared !== null) wrong.push(shared)
  values["secretVariables"] = secretVariables(environment)
  const unknown = unknownVariables(environment)
  if (wrong.length > 0) return { settings: null, wrong, unknown }
  return { settings: values as Settings, wrong: [], unknown }
}

/** A key that is a caller's and an operator's would make one of both settings mean nothing, and a name could not be told apart in the audit trail. */
function sharedKey({ apiKeys: callers = [], operatorKeys: operators = [] }: Partial<Settings>): string | null {
  const both = operators.find(({ name, key }) => callers.some((other) => other.name === name || other.key === key))
  return both === undefined
    ? null
    : `WIRE_OPERATOR_KEYS is wrong: it must be a list whose names and keys are not those of WIRE_API_KEYS (see ${both.name}).`
}

/** `--data-dir` of `DATA_DIR`. */
export function flagOf(env: string): string {
  return `--${env.toLowerCase().replaceAll("_", "-")}`
}

const secretPrefix = "WIRE_SECRET_"

function secretVariables(environment: Readonly<Record<string, string | undefined>>): Record<string, string> {
  const found: Record<string, string> = {}
  for (const [name, value] of Object.entries(environment)) {
    if (name.startsWith(secretPrefix) && value !== undefined && value !== "")
      found[name.slice(secretPrefix.length)] = value
  }
  return found
}

/** Variables of commands that ask a service; they say nothing to the service itself. */
const ofCommands = ["WIRE_URL", "WIRE_KEY"]

function unknownVariables(environment: Readonly<Record<string, string | undefined>>): string[] {
  const known = new Set([...Object.values(settingTable).map(({ env }) => `WIRE_${env}`), ...ofCommands])
  const sentences: string[] = []
  for (const name of Object.keys(environment)) {
    if (!name.startsWith("WIRE_") || name.startsWith(secretPrefix) || known.has(name)) continue
    const meant = didYouMean(name, known)
    sentences.push(`${name} is not a setting${meant === undefined ? "" : `; did you mean ${meant}?`}`)
  }
  return sentences
}
