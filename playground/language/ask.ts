import type { Answers, Question, Reply } from "./answers.ts"
import { whenIdle } from "../page/later.ts"
import { notify } from "../page/notices.ts"

// Asks the worker about texts. One question of a kind is under way at a time: of those that come meanwhile the newest waits, and the
// others are dropped, since the author has typed on.

type Name = keyof Answers
type AnswerTo<Of extends Name> = ReturnType<Answers[Of]>

interface Asked {
  readonly question: Question
  readonly resolve: (answer: unknown) => void
  readonly reject: (error: Error) => void
}

/** By kind: the question under way, and the one that waits for its answer. */
const underWay = new Map<Name, Asked>()
const waiting = new Map<Name, Asked>()

/** A worker that fails is started anew once; then the page does the work itself. */
const maxStarts = 2
let starts = 0
let worker: Worker | null = null
let lastId = 0

/** The answer; null where a newer question of the same kind has taken its place. */
export function ask<Of extends Name>(name: Of, ...asked: Parameters<Answers[Of]>): Promise<AnswerTo<Of> | null> {
  return new Promise<AnswerTo<Of> | null>((resolve, reject) => {
    const question = { id: ++lastId, name, asked } as Question
    const next: Asked = { question, resolve: (answer) => resolve(answer as AnswerTo<Of> | null), reject }
    if (underWay.has(name)) {
      waiting.get(name)?.resolve(null)
      waiting.set(name, next)
    } else send(next)
  })
}

/** Loads the worker while the page has nothing else to do, so that the first question need not wait for it. */
export function startLanguage(): void {
  whenIdle(() => void current())
}

function send(asked: Asked): void {
  underWay.set(asked.question.name, asked)
  const to = current()
  if (to === null) void answerHere(asked)
  else to.postMessage(asked.question)
}

/** Settles a question, and asks the one that waits for it. */
function settle({ question: { id, name } }: Asked, by: (asked: Asked) => void): void {
  const asked = underWay.get(name)
  if (asked?.question.id !== id) return
  underWay.delete(name)
  by(asked)
  const next = waiting.get(name)
  waiting.delete(name)
  if (next !== undefined) send(next)
}

function current(): Worker | null {
  while (worker === null && starts < maxStarts) {
    starts++
    try {
      worker = start()
    } catch {
      giveUp()
    }
  }
  return worker
}

function start(): Worker {
  const started = new Worker(workerAddress(), { type: "module", name: "language" })
  started.addEventListener("message", ({ data }: MessageEvent<Reply>) => {
    const asked = [...underWay.values()].find(({ question }) => question.id === data.id)
    if (asked === undefined) return
    settle(asked, ({ resolve, reject }) => {
      if ("failed" in data) reject(new Error(data.failed))
      else resolve(data.answer)
    })
  })
  for (const event of ["error", "messageerror"]) started.addEventListener(event, () => fail(started))
  return started
}

/** What was asked of a worker that failed is asked again. */
function fail(failed: Worker): void {
  if (worker !== failed) return
  failed.terminate()
  worker = null
  giveUp()
  for (const asked of underWay.values()) send(asked)
}

/** Says so when no further worker will be started. */
function giveUp(): void {
  if (starts < maxStarts) return
  notify(
    "The worker that checks the source failed twice, so the page does it. Long files are slower to type in.",
    "wrong",
  )
}

async function answerHere(asked: Asked): Promise<void> {
  try {
    const { answer } = await import("./answers.ts")
    const found = answer(asked.question)
    settle(asked, ({ resolve }) => resolve(found))
  } catch (error) {
    settle(asked, ({ reject }) => reject(error instanceof Error ? error : new Error(String(error))))
  }
}

let policy: TrustedTypePolicy | undefined

/** The page names the script. Where the browser has trusted types, this is the one address that may become a script. */
function workerAddress(): string {
  const named = document.querySelector<HTMLMetaElement>('meta[name="language-worker"]')?.content ?? ""
  const address = new URL(named, document.baseURI).href
  policy ??= window.trustedTypes?.createPolicy("language-worker", { createScriptURL: () => address })
  // A trusted address is taken where a text is.
  return (policy?.createScriptURL("") as string | undefined) ?? address
}
