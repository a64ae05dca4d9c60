import type { JsonObject, JsonValue } from "../../base/json-value.ts"
import { ObjectInOrder } from "../../base/ordered-object.ts"
import { assetLabel, isAsset, isAssetList } from "./asset.ts"
import { TakesLong } from "./evaluation-work.ts"
import { isLongJson, jsonSteps, type WrittenText } from "./functions/json-steps.ts"
import type { Steps } from "./steps.ts"
import type { Scope } from "./scope.ts"

/** A text made of pieces, refused when it gets too large. */
export class TextBuilder {
  readonly #scope: Scope
  /** Bytes of the text as JSON: the sum of its pieces. (More than that where two halves of a surrogate pair meet.) */
  #bytes = 2
  /** Texts of arrays and objects, which a text may hold many times. */
  #written: Map<JsonValue, WrittenText> | null = null
  #text = ""

  constructor(scope: Scope) {
    this.#scope = scope
  }

  /** Throws `TakesLong` where others have to have their turn before the value is written. */
  add(value: JsonValue): void {
    const { work, path } = this.#scope
    if (typeof value === "object" && value !== null) {
      if (work.takesTurns && !this.#isWritten(value) && isLongText(value, this.#scope)) throw new TakesLong()
      this.#add(this.#written?.get(value) ?? this.#write(value))
    } else {
      const bytes = work.part(value, this.#bytes, path)
      this.#add({ text: toText(value), bytes: typeof value === "string" ? bytes - 2 : bytes })
    }
  }

  /** The same in steps. */
  *addSteps(value: JsonValue): Steps<void> {
    const { work, path } = this.#scope
    if (!this.#isWritten(value) && isLongText(value, this.#scope)) {
      work.part(value, this.#bytes, path)
      const { text, bytes } = yield* jsonSteps(value, this.#scope)
      this.#keep(value, { text, bytes: bytes - 2 })
    }
    this.add(value)
  }

  #add({ text, bytes }: WrittenText): void {
    const { work, path } = this.#scope
    work.text(bytes, path)
    this.#bytes += bytes
    work.checkSize(this.#bytes, path)
    this.#text += text
  }

  #isWritten(value: JsonValue): boolean {
    return this.#written?.has(value) === true
  }

  #write(value: JsonValue): WrittenText {
    const { work, path } = this.#scope
    work.written(value, this.#bytes, path)
    const text = toText(value)
    return this.#keep(value, { text, bytes: work.part(text, 0, path) - 2 })
  }

  #keep(value: JsonValue, made: WrittenText): WrittenText {
    this.#written ??= new Map()
    this.#written.set(value, made)
    return made
  }

  get text(): string {
    this.#scope.work.remember(this.#text, this.#bytes)
    return this.#text
  }
}

/** An array made of values, refused when it gets too large. */
export class ArrayBuilder {
  readonly #scope: Scope
  readonly array: JsonValue[] = []
  #bytes = 2

  constructor(scope: Scope) {
    this.#scope = scope
  }

  add(value: JsonValue): void {
    this.#bytes += 1 + this.#scope.work.part(value, this.#bytes, this.#scope.path)
    this.array.push(value)
  }
}

/** An object made of values, refused when it gets too large. */
export class ObjectBuilder {
  readonly #scope: Scope
  readonly #made = new ObjectInOrder()
  #bytes = 2

  constructor(scope: Scope) {
    this.#scope = scope
  }

  get object(): JsonObject {
    return this.#made.object
  }

  set(key: string, value: JsonValue): void {
    const { work, path } = this.#scope
    this.#bytes += key.length + 4 + work.part(value, this.#bytes, path)
    this.#made.set(key, value)
  }
}

/** Writes a value as interpolation does: strings as they are, everything else as compact JSON. */
export function toText(value: JsonValue): string {
  if (typeof value === "string") return value
  if (isAssetList(value)) return value.map(assetLabel).join("")
  return isAsset(value) ? assetLabel(value) : JSON.stringify(value)
}

/** The same, refused when it is too large. */
export function toBoundedText(value: JsonValue, { work, path }: Scope): string {
  work.text(work.written(value, 0, path), path)
  return toText(value)
}

/** Whether a value takes more than one step to write as text. */
function isLongText(value: JsonValue, scope: Scope): boolean {
  return typeof value === "object" && !isAsset(value) && !isAssetList(value) && isLongJson(value, scope)
}

/** The text of a value, refused when it is too large, written in steps. */
export function* textSteps(value: JsonValue, scope: Scope): Steps<string> {
  if (!isLongText(value, scope)) return toBoundedText(value, scope)
  scope.work.part(value, 0, scope.path)
  return (yield* jsonSteps(value, scope)).text
}
