import type { AgentSymbol, Program } from "../check/program.ts"
import { stableIn, variesIn } from "../check/varies.ts"
import { untilOf } from "../check/repeat-of.ts"
import { hostedIn } from "../check/hosted-tools.ts"
import { propertyOf, secondName } from "../syntax/property-of.ts"
import { choiceOf, modelEntries } from "../syntax/model-choice.ts"
import type { Span } from "../source/span.ts"
import type * as Syntax from "../syntax/tree.ts"
import { isCleared } from "./declared.ts"
import { placeAt, type Flow, type Place, type Steps } from "./flow.ts"
import { join, marked, none, via, type Marks } from "./marks.ts"
import type { Reading, Rules } from "./rules.ts"

/** What the model of an agent reads besides what it uses, and whether it may. */
export class AgentReadings {
  readonly #program: Program
  readonly #flow: Flow
  readonly #rules: Rules
  readonly #read: Steps["read"]
  readonly #conversation: (agent: string) => Marks

  /** `conversation`: what another agent reads that continues one. */
  constructor(program: Program, flow: Flow, rules: Rules, read: Steps["read"], conversation: (agent: string) => Marks) {
    this.#program = program
    this.#flow = flow
    this.#rules = rules
    this.#read = read
    this.#conversation = conversation
  }

  /** What a model reads of a property, which is not its system text, nor what it uses. */
  own(id: string, { name, value }: Syntax.Property, place: Place): Reading[] {
    if (readElsewhere.has(name.text)) return []
    const path = `${id}.${name.text}`
    let marks = none
    const touched = this.#flow.during(() => (marks = this.#flow.within(value, { ...place, path })))
    // An error in a requirement is told to the model.
    if (value.kind === "requirement") marks = join(marks, touched)
    if (value.kind !== "context") return [{ path, span: name, marks: via(marks, path, name) }]
    const continued = secondName(value.reference)
    const before = this.#conversation(continued)
    this.#read(`agent.${continued}`, place, before)
    return [{ path, span: name, marks: via(join(before, marks), path, name) }]
  }

  /** The models that compact what the agent continues. */
  compaction(id: string, body: Syntax.Block<Syntax.Property>, readings: readonly Reading[]): string[] {
    const context = propertyOf(body, "context")?.value
    const models = context?.kind === "context" ? this.modelsIn(propertyOf(context.block, "model")) : []
    this.models(
      id,
      models,
      readings.filter(({ path }) => path === `${id}.context`),
    )
    return models
  }

  /** The agent's own system text, else those of its models. */
  system(id: string, body: Syntax.Block<Syntax.Property>, place: Place, models: readonly string[]): Reading[] {
    const own = propertyOf(body, "system")
    const texts =
      own === undefined
        ? models.map((model) => {
            const path = `model.${model}.system`
            const property = propertyOf(this.#program.models.get(model)?.body, "system")
            return { path, property, at: placeAt(path, place.span) }
          })
        : [{ path: `${id}.system`, property: own, at: { ...place, path: `${id}.system` } }]
    return texts.flatMap(({ path, property, at }) => {
      if (property?.value.kind !== "expression") return []
      const marks = via(this.#flow.of(property.value.expression, at).whole, path, property.name)
      return [{ path, span: property.name, marks }]
    })
  }

  /** Notes an agent of a loop whose prompt begins with private values that stay the same from item to item. */
  beginning(name: string, symbol: AgentSymbol, place: Place, models: readonly string[]): void {
    const { declaration, locals } = symbol
    if (declaration.loop === undefined || this.#program.privateBeginnings.has(name)) return
    const varies = variesIn(this.#program.roots, { locals })
    const { body } = declaration
    const own = propertyOf(body, "system")
    const systems =
      own === undefined ? models.map((one) => propertyOf(this.#program.models.get(one)?.body, "system")) : [own]
    const written = ["messages", "instruction", "file"].flatMap((one) =>
      body.items.filter(({ name: { text } }) => text === one),
    )
    const values = [...systems, ...written].flatMap((one) => (one === undefined ? [] : [one.value]))
    const isPrivate = values.some((value) => {
      const text = value.kind === "expression" ? value.expression : value.kind === "file" ? value.content : undefined
      if (text === undefined) return this.#flow.within(value, place).private.length > 0
      return stableIn(text, varies).expressions.some((one) => this.#flow.of(one, place).whole.private.length > 0)
    })
    const context = propertyOf(body, "context")?.value
    const continued = context?.kind === "context" ? this.#conversation(secondName(context.reference)) : none
    if (isPrivate || continued.private.length > 0) this.#program.privateBeginnings.add(name)
  }

  /** What the providers of its models search or fetch while they answer: strangers' words. */
  hosted(id: string, body: Syntax.Block<Syntax.Property>, models: readonly string[]): HostedReading[] {
    const places = [{ path: id, body }, ...models.map((name) => ({ path: `model.${name}`, body: this.#bodyOf(name) }))]
    return places.flatMap((place) => {
      const property = propertyOf(place.body, "hosted_tools")
      const entries = hostedIn(place.body)
      if (property === undefined || entries.length === 0) return []
      const path = `${place.path}.hosted_tools`
      const span = property.name
      const marks = marked("untrusted", { name: path, span })
      return [{ path, span, marks, isCleared: entries.every(({ isCleared }) => isCleared) }]
    })
  }

  /** What a model reads may go to those whom its hosted tools ask. */
  hostedTools(id: string, hosted: readonly HostedReading[], readings: readonly Reading[], decided: Marks): void {
    const open = hosted.find(({ isCleared }) => !isCleared)
    if (open !== undefined) this.#rules.hosted(id, open, readings, decided)
  }

  #bodyOf(model: string): Syntax.Block<Syntax.Property> | undefined {
    return this.#program.models.get(model)?.body
  }

  modelsIn(property: Syntax.Property | undefined, loop?: Syntax.Loop): string[] {
    const entries = property === undefined ? undefined : modelEntries(property.value, loop)
    return (entries ?? []).map(({ reference }) => secondName(reference))
  }

  /** Strangers may not choose the model. What chooses it is read with all that is written in the agent. */
  choice(id: string, { body, loop }: Syntax.AgentDeclaration, place: Place): void {
    const chosen = choiceOf(propertyOf(body, "model")?.value, loop)
    if (chosen === undefined) return
    const path = `${id}.model`
    const marks = this.#flow.of(chosen, { ...place, path }).whole
    this.#rules.choice(path, chosen, marks)
  }

  #openModel(models: readonly string[]): string | undefined {
    return models.find((name) => {
      const model = this.#program.models.get(name)
      return !isCleared(model?.body) && !isCleared(this.#program.providers.get(model?.provider?.text ?? "")?.body)
    })
  }

  models(id: string, models: readonly string[], readings: readonly Reading[]): void {
    const open = this.#openModel(models)
    if (open !== undefined) this.#rules.model(id, open, readings)
  }

  decision(models: readonly string[], decided: Marks, { declaration }: AgentSymbol): void {
    const { when, loop, name } = declaration
    this.decidedBy(models, decided, when?.condition ?? loop?.items ?? untilOf(declaration) ?? name)
  }

  decidedBy(models: readonly string[], decided: Marks, span: Span): void {
    const open = this.#openModel(models)
    if (open !== undefined) this.#rules.modelDecision(open, span, decided)
  }
}

/** Local values are read where they are referred to. */
const readElsewhere: ReadonlySet<string> = new Set(["system", "uses", "hosted_tools", "dynamic", "repeat"])

export interface HostedReading extends Reading {
  /** Each entry says that private data may go there. */
  readonly isCleared: boolean
}
