import { computed, signal } from "@preact/signals"
import type { ExecuteOptions } from "../../src/api/execute.ts"
import { parseDuration } from "../../src/base/parse-duration.ts"
import { limitKeys } from "../../src/syntax/property-table.ts"

type LimitKey = (typeof limitKeys)[number]

/** The options as a person typed them; an empty text is the service's default. */
export interface OptionTexts {
  readonly cache_key: string
  readonly use_cache: boolean
  readonly max_concurrency: string
  readonly timeout: string
  readonly deltas: boolean
  /** Absent in what was kept before there were limits. */
  readonly limits?: LimitTexts
}

export type LimitTexts = { readonly [Key in LimitKey]?: string }

export const defaultOptions: OptionTexts = {
  cache_key: "",
  use_cache: true,
  max_concurrency: "",
  timeout: "",
  deltas: true,
}

export const optionTexts = signal<OptionTexts>(defaultOptions)

export interface OptionCheck {
  readonly value: ExecuteOptions
  readonly wrong: WrongOptions
}

export type WrongOptions = Partial<Record<keyof OptionTexts | LimitKey, string>>

export const optionCheck = computed(() => checkOptions(optionTexts.value))

/** Reads the options to send: only those that differ from the service's defaults. */
export function checkOptions(texts: OptionTexts): OptionCheck {
  const value: { -readonly [Key in keyof ExecuteOptions]: ExecuteOptions[Key] } = {}
  const wrong: { -readonly [Key in keyof WrongOptions]: string } = {}
  if (texts.cache_key !== "") value.cache_key = texts.cache_key
  if (texts.cache_key.length > 1024) wrong.cache_key = "A cache key has at most 1,024 characters."
  if (!texts.use_cache) value.use_cache = false
  if (texts.max_concurrency !== "") {
    const most = Number(texts.max_concurrency)
    if (/^\d{1,4}$/.test(texts.max_concurrency) && most >= 1 && most <= 1000) value.max_concurrency = most
    else wrong.max_concurrency = "A whole number from 1 to 1,000."
  }
  if (texts.timeout !== "") {
    const time = parseDuration(texts.timeout.trim())
    if (time !== undefined && time >= 1 && time <= 86_400_000) value.timeout_ms = time
    else wrong.timeout = "A duration such as 500ms, 30s, 15m or 1h, at most a day."
  }
  if (texts.deltas) value.deltas = true
  const limits: { [Key in LimitKey]?: number } = {}
  for (const key of limitKeys) {
    const text = (texts.limits?.[key] ?? "").trim()
    if (text === "") continue
    const most = Number(text.replaceAll("_", ""))
    if (Number.isFinite(most) && most > 0) limits[key] = most
    else wrong[key] = "A number above 0."
  }
  if (Object.keys(limits).length > 0) value.limits = limits
  return { value, wrong }
}

/** The texts that would give these options. */
export function toOptionTexts(options: ExecuteOptions): OptionTexts {
  const { cache_key, use_cache, max_concurrency, timeout_ms, deltas, limits } = options
  return {
    cache_key: cache_key ?? "",
    use_cache: use_cache ?? true,
    max_concurrency: typeof max_concurrency === "number" ? String(max_concurrency) : "",
    timeout: typeof timeout_ms === "number" ? `${timeout_ms}ms` : "",
    deltas: deltas ?? false,
    ...(limits === undefined || limits === null ? {} : { limits: limitTexts(limits) }),
  }
}

function limitTexts(limits: NonNullable<ExecuteOptions["limits"]>): LimitTexts {
  return Object.fromEntries(
    limitKeys.flatMap((key) => (limits[key] === undefined ? [] : [[key, String(limits[key])] as const])),
  )
}
