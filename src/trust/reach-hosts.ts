import { remembered } from "../base/remembered.ts"
import { constantOf } from "../check/constants.ts"
import type { Program } from "../check/program.ts"
import { providerKinds } from "../check/provider-kinds.ts"
import type { Span } from "../source/span.ts"
import { expressionIn, propertyOf } from "../syntax/property-of.ts"
import type * as Syntax from "../syntax/tree.ts"
import type { Bound } from "./flow.ts"
import { chainsOf, fieldOf, shortText, sorted, within } from "./reach-places.ts"
import type { ReachedHost } from "./reach-shape.ts"
import type { RunNames } from "./run-names.ts"

type Backend = Syntax.ProviderDeclaration | Syntax.McpDeclaration | Syntax.ApiDeclaration

function defaultEndpoint(backend: Backend): string {
  const kind = backend.kind === "provider" ? backend.providerKind?.text : undefined
  return providerKinds.get(kind ?? "")?.endpoint ?? ""
}

/** The host of what a provider's own tools ask. */
const anyHost = "*"

interface Sent {
  readonly steps: Set<string>
  readonly inputs: Set<string>
  readonly secrets: Set<string>
  isPrivate: boolean
}

const nothingSent: Sent = { steps: new Set(), inputs: new Set(), secrets: new Set(), isPrivate: false }

/** The hosts that a file can call, and what is sent there. */
export class ReachedHosts {
  readonly #program: Program
  readonly #names: RunNames
  readonly #inputs: readonly Syntax.Chain[]
  readonly #secrets: readonly Syntax.Chain[]
  readonly #sent = new Map<string, Sent>()

  constructor(program: Program, names: RunNames) {
    this.#program = program
    this.#names = names
    this.#inputs = chainsOf(program, "input")
    this.#secrets = chainsOf(program, "secrets")
  }

  /** A step sends something to a backend. */
  send(backend: string, step: string, isPrivate: boolean, bound: readonly Bound[]): void {
    const known = remembered(this.#sent, backend, (): Sent => {
      return { steps: new Set(), inputs: new Set(), secrets: new Set(), isPrivate: false }
    })
    known.steps.add(step)
    for (const { field, value } of bound) {
      for (const secret of within(this.#secrets, field)) known.secrets.add(fieldOf("secrets")(secret))
      for (const input of within(this.#inputs, field)) known.inputs.add(fieldOf("input")(input))
      known.isPrivate ||= value.whole.private.length > 0
    }
    known.isPrivate ||= isPrivate
  }

  /** A step lets a backend's own tools send something to anybody. */
  sendOn(backend: string, step: string, isPrivate: boolean): void {
    this.send(`${backend} ${anyHost}`, step, isPrivate, [])
  }

  read(): ReachedHost[] {
    const { providers, servers, apis } = this.#program
    const all = [...providers.values(), ...servers.values(), ...apis.values()]
    return all
      .flatMap((one) => this.#hostsOf(one))
      .map((host) => ({
        ...host,
        backend: this.#names.of(host.backend),
        inputs: this.#names.inputs(host.inputs),
        secrets: sorted(new Set(host.secrets.flatMap((secret) => this.#names.secretsOf(secret)))),
      }))
  }

  /** Where a backend is, and where it gets its tokens; nothing for one that is not called. */
  #hostsOf(declaration: Backend): ReachedHost[] {
    const { kind, name, body } = declaration
    const backend = `${kind}.${name.text}`
    const sent = this.#sent.get(backend) ?? nothingSent
    // MCP servers are connected to when the run begins, whether a step uses what they have or not.
    if (sent === nothingSent && kind !== "mcp") return []
    const auth = propertyOf(body, "auth")
    const isAuth = ({ start, end }: Span): boolean => auth !== undefined && auth.start <= start && end <= auth.end
    const namesIn = (chains: readonly Syntax.Chain[], root: "input" | "secrets", spans: readonly Span[]): string[] => {
      return spans.flatMap((span) =>
        within(chains, span)
          .filter((one) => span === auth || !isAuth(one))
          .map(fieldOf(root)),
      )
    }
    const spans = [declaration, ...(kind === "provider" ? this.#modelsOf(name.text) : this.#importsOf(declaration))]
    const own: ReachedHost = {
      host: this.#hostAt(expressionIn(body, "endpoint"), defaultEndpoint(declaration)),
      backend,
      inputs: sorted(
        new Set([...namesIn(this.#inputs, "input", spans), ...sent.inputs, ...this.#names.madeFrom(sent.steps)]),
      ),
      secrets: sorted(new Set([...namesIn(this.#secrets, "secrets", spans), ...sent.secrets])),
      private: sent.isPrivate,
    }
    const further = this.#sent.get(`${backend} ${anyHost}`)
    if (further !== undefined) {
      const inputs = sorted(this.#names.madeFrom(further.steps))
      return [own, { host: anyHost, backend, inputs, secrets: [], private: further.isPrivate }]
    }
    if (auth?.value.kind !== "properties") return [own]
    const address = expressionIn(auth.value.block, "token_endpoint") ?? expressionIn(auth.value.block, "issuer")
    const tokens: ReachedHost = {
      host: this.#hostAt(address, ""),
      backend: `${backend}.auth`,
      inputs: sorted(new Set(namesIn(this.#inputs, "input", [auth]))),
      secrets: sorted(new Set(namesIn(this.#secrets, "secrets", [auth]))),
      private: false,
    }
    return [own, tokens]
  }

  /** The models of a provider: their ids and system texts go there. */
  #modelsOf(provider: string): Span[] {
    return [...this.#program.models.values()].filter((model) => model.provider?.text === provider)
  }

  #importsOf({ kind, name }: Backend): Span[] {
    const { tools, resources, prompts } = this.#program
    return [...tools.values(), ...resources.values(), ...prompts.values()].flatMap(
      ({ origin, server, node, batch }) => {
        return origin === kind && server?.text === name.text ? [node, ...(batch === undefined ? [] : [batch])] : []
      },
    )
  }

  #hostAt(written: Syntax.Expression | undefined, usual: string): string {
    const address = written === undefined ? usual : constantOf(written)
    if (typeof address !== "string") return written === undefined ? "" : shortText(this.#program, written)
    // A page that only compiles has no parser of addresses.
    const [, host = address] = /^https?:\/\/(?:[^@/?#]*@)?([^/?#]+)/.exec(address) ?? []
    return host
  }
}
