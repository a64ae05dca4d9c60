import { createHash } from "node:crypto"
import { jsonOf } from "../../base/bounded-json.ts"
import { isJsonObject } from "../../base/is-json-object.ts"
import type { JsonObject } from "../../base/json-value.ts"
import { cutText } from "../../base/cut-text.ts"
import { visibleText } from "../../base/visible-text.ts"
import { tokenAnswerBytes, tokenLength, tokenMs, tokensKept } from "../../base/limits.ts"
import type { Clock } from "../../ports/clock.ts"
import { EgressFailure, type Egress, type EgressResponse } from "../../ports/egress.ts"
import { openGate, pass, type Gate } from "../../ports/gate.ts"
import { RunFailure, wireError } from "../../ports/run-failure.ts"
import type { ServerAuth } from "../../ports/tools.ts"
import { clientAssertion } from "./client-assertion.ts"

/** Who a token is for, and where it goes. */
export interface TokenUse {
  readonly auth: ServerAuth
  /** `mcp.name` or `api.name`, for errors. */
  readonly path: string
  /** The origin that the token is sent to. */
  readonly origin: string
  /** The caller, and the workflow of the server's folder. */
  readonly owner: readonly (string | null)[]
  /** Gets each token, so that it is not shown. */
  readonly hide: (token: string) => void
}

interface Token {
  readonly text: string
  /** By the monotonic clock: when it is renewed. */
  readonly until: number
}

interface TokenRequest {
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
  /** Forms of the credential that an answer must not repeat to anybody. */
  readonly sent: readonly string[]
}

/** A token whose server does not say how long it lasts. */
const unknownSeconds = 300
/** A token is renewed so long before it expires, or after nine tenths of its time. */
const aheadMs = 30_000

/** Access tokens by client credentials, in the memory of this process. */
export class Tokens {
  readonly #clock: Clock
  readonly #known = new Map<string, Token>()
  readonly #asked = new Map<string, Promise<Token>>()

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** `refused`: a token that the server did not accept. One request is made for all that wait. */
  async get(use: TokenUse, egress: Egress, gate: Gate, signal: AbortSignal, refused: string | null): Promise<string> {
    const key = keyOf(use)
    const known = this.#known.get(key)
    if (known !== undefined && known.text !== refused && known.until > this.#clock.monotonic()) {
      use.hide(known.text)
      return known.text
    }
    await pass(gate)
    let asked = this.#asked.get(key)
    if (asked === undefined) {
      asked = this.#fetch(use, egress).finally(() => this.#asked.delete(key))
      this.#asked.set(key, asked)
      asked.then(
        (token) => this.#keep(key, token),
        () => this.#known.delete(key),
      )
    }
    const token = await untilAborted(asked, signal)
    use.hide(token.text)
    return token.text
  }

  #keep(key: string, token: Token): void {
    this.#known.delete(key)
    this.#known.set(key, token)
    // The oldest token is dropped first.
    for (const oldest of this.#known.keys()) {
      if (this.#known.size <= tokensKept) break
      this.#known.delete(oldest)
    }
  }

  async #fetch(use: TokenUse, egress: Egress): Promise<Token> {
    const { auth, path } = use
    const asking = new Asking(egress, `${path}.auth`, AbortSignal.timeout(tokenMs))
    const endpoint = auth.token_endpoint ?? (await discover(auth.issuer ?? "", asking))
    const startedAt = this.#clock.monotonic()
    const answer = await asking.json(endpoint, this.#request(auth, endpoint, asking))
    const { access_token, token_type, expires_in } = answer
    if (typeof access_token !== "string" || access_token === "") throw asking.failure("gave no access token")
    if (access_token.length > tokenLength) {
      throw asking.failure(`gave a token of more than ${tokenLength} characters`)
    }
    if (!/^[\x21-\x7e]+$/.test(access_token)) throw asking.failure("gave a token that cannot be sent in a header")
    if (typeof token_type === "string" && token_type.toLowerCase() !== "bearer") {
      throw asking.failure("gave a token that is not a bearer token")
    }
    const seconds = Number(expires_in)
    const ms = (Number.isFinite(seconds) && seconds > 0 ? seconds : unknownSeconds) * 1000
    return { text: access_token, until: startedAt + Math.max(ms - aheadMs, ms * 0.9) }
  }

  #request(auth: ServerAuth, endpoint: string, asking: Asking): TokenRequest {
    const body = new URLSearchParams({ grant_type: "client_credentials" })
    const headers: Record<string, string> = {
      accept: "application/json",
      "content-type": "application/x-www-form-urlencoded",
    }
    if (auth.scopes.length > 0) body.set("scope", auth.scopes.join(" "))
    if (auth.audience !== null) body.set("audience", auth.audience)
    if (auth.resource !== null) body.set("resource", auth.resource)
    const { client_id, client_secret, private_key, key_id, algorithm } = auth
    const sent: string[] = []
    if (private_key !== null) {
      body.set("client_id", client_id)
      body.set("client_assertion_type", "urn:ietf:params:oauth:client-assertion-type:jwt-bearer")
      try {
        const client = { client_id, private_key, key_id, algorithm }
        const assertion = clientAssertion(client, auth.issuer ?? endpoint, this.#clock.now())
        body.set("client_assertion", assertion)
        sent.push(assertion)
      } catch (error) {
        throw asking.plainFailure(error instanceof Error ? error.message : "`private_key` cannot be used")
      }
    } else if (auth.client_auth === "post") {
      body.set("client_id", client_id)
      body.set("client_secret", client_secret ?? "")
    } else {
      const pair = `${formEncoded(client_id)}:${formEncoded(client_secret ?? "")}`
      const basic = Buffer.from(pair).toString("base64")
      headers["authorization"] = `Basic ${basic}`
      sent.push(basic, pair)
    }
    return { headers, body: body.toString(), sent }
  }
}

/** The token endpoint that the issuer publishes. It must say that it is this issuer: another one could take its secret. */
async function discover(issuer: string, asking: Asking): Promise<string> {
  const problem = addressProblem(issuer)
  if (problem !== null) throw asking.plainFailure(`\`issuer\` ${problem}`)
  const url = new URL(issuer)
  const path = url.pathname === "/" ? "" : url.pathname.replace(/\/$/, "")
  const places = [
    `${url.origin}/.well-known/oauth-authorization-server${path}`,
    `${url.origin}${path}/.well-known/openid-configuration`,
  ]
  let failure: unknown
  for (const place of places) {
    let metadata: JsonObject
    try {
      metadata = await asking.json(place, null)
    } catch (error) {
      if (!(error instanceof RunFailure) || error.error.kind !== "tool_error") throw error
      failure ??= error
      continue
    }
    if (metadata["issuer"] !== issuer) throw asking.failure("publishes the metadata of another issuer")
    const { token_endpoint } = metadata
    if (typeof token_endpoint !== "string" || addressProblem(token_endpoint) !== null) {
      throw asking.failure("publishes no token endpoint that can be used")
    }
    // Where the secret goes is written in the workflow, and in no document that a server publishes.
    const { origin } = new URL(token_endpoint)
    if (origin !== url.origin) {
      const message = `the issuer names a token endpoint at ${origin}, and not at its own address: write \`token_endpoint\` beside or in place of \`issuer\``
      throw asking.plainFailure(message)
    }
    return token_endpoint
  }
  throw failure
}

/** What keeps a secret from being sent to an address; null for https, or http on this machine. */
function addressProblem(address: string): string | null {
  if (address === "") return "is empty"
  const url = URL.parse(address)
  if (url === null) return "is not a URL such as https://login.example.com"
  if (url.username !== "" || url.password !== "") return "has a user name or a password, which an address must not have"
  if (url.protocol === "https:") return null
  const isHere = url.protocol === "http:" && /^(?:localhost|127(?:\.\d{1,3}){3}|\[::1\])$/.test(url.hostname)
  return isHere ? null : "does not begin with https://, and is not on this machine"
}

/** Requests to an authorization server, and what went wrong with them. */
class Asking {
  readonly #egress: Egress
  readonly #path: string
  readonly #signal: AbortSignal
  #host = ""

  constructor(egress: Egress, path: string, signal: AbortSignal) {
    this.#egress = egress
    this.#path = path
    this.#signal = signal
  }

  plainFailure(message: string): RunFailure {
    return new RunFailure(wireError("tool_error", [{ path: this.#path, message: `${this.#path}: ${message}` }]))
  }

  failure(what: string): RunFailure {
    return this.plainFailure(`the authorization server ${this.#host} ${what}`)
  }

  async json(url: string, post: TokenRequest | null): Promise<JsonObject> {
    const problem = addressProblem(url)
    if (problem !== null) throw this.plainFailure(`\`token_endpoint\` ${problem}`)
    this.#host = new URL(url).host
    let response: EgressResponse
    let text: string
    try {
      response = await this.#egress.request({
        url,
        method: post === null ? "GET" : "POST",
        headers: post?.headers ?? { accept: "application/json" },
        body: post?.body ?? null,
        signal: this.#signal,
        gate: openGate,
        limits: { firstByteMs: tokenMs, silenceMs: tokenMs, totalMs: tokenMs, max_bytes: tokenAnswerBytes },
        redirect: "manual",
      })
      text = await response.text()
    } catch (error) {
      throw this.#explained(error)
    }
    const answer = parsed(text)
    if (response.status >= 300 && response.status < 400) throw this.failure("redirects, which is not followed")
    if (response.status !== 200) {
      const { error, error_description } = answer ?? {}
      const said = [error, error_description].flatMap((one) => (typeof one === "string" && one !== "" ? [one] : []))
      let text = said.join(": ")
      // The run knows its secrets, not the forms that they are sent in.
      for (const one of post?.sent ?? []) text = text.replaceAll(one, "[secret]")
      const words = text === "" ? "" : `: ${cutText(visibleText(text), 500)}`
      throw this.failure(`answered with HTTP ${response.status}${words}`)
    }
    if (answer === null) throw this.failure("did not answer with a JSON object")
    return answer
  }

  #explained(error: unknown): unknown {
    if (error instanceof RunFailure) {
      const issues = error.error.issues.map((issue) => (issue.path === "" ? { ...issue, path: this.#path } : issue))
      return new RunFailure({ ...error.error, issues })
    }
    if (error instanceof EgressFailure) return this.plainFailure(error.message)
    if (this.#signal.aborted) return this.failure(`did not answer within ${tokenMs / 1000} s`)
    return error
  }
}

function parsed(text: string): JsonObject | null {
  const value = jsonOf(text)
  return isJsonObject(value) ? value : null
}

/** Encodes a text as `application/x-www-form-urlencoded` (RFC 6749, 2.3.1). */
function formEncoded(text: string): string {
  return new URLSearchParams({ x: text }).toString().slice(2)
}

/** The credential counts by its digest: it is not kept. */
function keyOf({ auth, origin, owner }: TokenUse): string {
  const { client_secret, private_key, ...rest } = auth
  return createHash("sha256")
    .update(JSON.stringify([owner, origin, rest, digestOf(client_secret), digestOf(private_key)]))
    .digest("base64")
}

function digestOf(text: string | null): string | null {
  return text === null ? null : createHash("sha256").update(text).digest("base64")
}

async function untilAborted<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  signal.throwIfAborted()
  const aborted = Promise.withResolvers<never>()
  const onAbort = (): void => aborted.reject(signal.reason as Error)
  signal.addEventListener("abort", onAbort, { once: true })
  try {
    return await Promise.race([promise, aborted.promise])
  } finally {
    signal.removeEventListener("abort", onAbort)
  }
}
