/** A mistake that a developer could make in the code: the text to replace, and what replaces it. */
export interface PlantedBug {
  readonly name: string
  readonly file: string
  readonly from: string
  readonly to: string
  /** What finds it: whole histories on the memory store, on the NATS store, or made again on SQLite. */
  readonly on?: "nats" | "sqlite"
  /** A history that finds it. Where the simulator has changed, tests look on from there, and `npm run simulate` for a new one. */
  readonly seed: number
}

// Each is a bug that was made, or nearly made, in a system of this kind. The simulation has to catch every one of them.
export const plantedBugs: readonly PlantedBug[] = [
  {
    name: "a process that lost the run may still write to its log",
    file: "src/adapters/memory/memory-store.ts",
    from: "return run?.fence === lease.fence ? run : undefined",
    to: "return run",
    seed: 15,
  },
  {
    name: "a run can be claimed while its owner is well",
    file: "src/adapters/memory/memory-store.ts",
    from: "if (run.lease_until > now || ",
    to: "if (run.lease_until > now + 8_000 || ",
    seed: 1,
  },
  {
    name: "one idempotency key makes two runs",
    file: "src/adapters/memory/memory-store.ts",
    from: "if (existing !== null) return existing\n    if (this.#runs",
    to: "if (this.#runs",
    seed: 1,
  },
  {
    name: "giving a run back takes it from its present owner",
    file: "src/adapters/memory/memory-store.ts",
    from: "const run = this.#held(lease)\n    if (run === undefined) return\n    run.fence++",
    to: "const run = this.#open.get(lease.run_id)\n    if (run === undefined) return\n    run.fence++",
    seed: 15,
  },
  {
    name: "calls go out although the lease may have run out",
    file: "src/run/log/lease-keeper.ts",
    from: "< (this.#leaseMs * 2) / 3) return null",
    to: "< Infinity) return null",
    seed: 211,
  },
  {
    name: "a tool is called before the log knows that it will be",
    file: "src/run/log/log.ts",
    from: `  "tool_call_started",\n`,
    to: "",
    seed: 471,
  },
  {
    name: "what an agent said is used before it is stored",
    file: "src/run/log/log.ts",
    from: `  "agent_completed",\n  "agent_failed",`,
    to: `  "agent_failed",`,
    seed: 20,
  },
  {
    name: "an append whose answer was lost counts as stored",
    file: "src/run/log/log.ts",
    from: "if (await this.#isStored(batch)) return",
    to: "return",
    seed: 25,
  },
  {
    name: "an interrupted call is made once more, whatever it does",
    file: "src/run/tools/call-tool.ts",
    from: "if (begun && !idempotent) return end",
    to: "if (false as boolean) return end",
    seed: 10,
  },
  {
    name: "a resumed run forgets which agents have completed",
    file: "src/log/fold.ts",
    from: "agent.completed = outcomeOf(event.data.output, more)",
    to: "outcomeOf(event.data.output, more)",
    seed: 5,
  },
  {
    name: "followers are not notified of appended events",
    file: "src/ports/follow-log.ts",
    from: "const unwatch = log.watch(bell)",
    to: "const unwatch = (): void => undefined",
    seed: 1,
  },
  {
    name: "a failed agent leaves its calls behind, which write after the end",
    file: "src/run/run-context.ts",
    from: "running.backgroundWork.add(tracked)\n  return work",
    to: "return work",
    seed: 655,
  },
  {
    name: "the last answer to a question wins, not the first",
    file: "src/adapters/memory/memory-questions.ts",
    from: `if (stored.question.status !== "open") return { stored: false, question: stored.question }`,
    to: "",
    seed: 27,
  },
  {
    name: "a call is made that was declined",
    file: "src/run/questions/approval-answer.ts",
    from: "return { approve: approve === true,",
    to: 'return { approve: typeof approve === "boolean",',
    seed: 1,
  },
  {
    name: "a person is shown other arguments than those that are sent",
    file: "src/run/questions/approval.ts",
    from: "        arguments: sent,\n        digest",
    to: '        arguments: { text: "something else" },\n        digest',
    seed: 9,
  },
  {
    name: "a resumed run forgets the model calls that it has made",
    file: "src/log/used.ts",
    from: `this.#count(agent, "model_calls", 1)`,
    to: "",
    seed: 44,
  },
  {
    name: "nobody takes over the runs of a process that died",
    file: "src/adapters/memory/memory-store.ts",
    from: "if (run.lease_until > now || ",
    to: "if (run.lease_until > Number.NEGATIVE_INFINITY || ",
    seed: 1,
  },
  {
    name: "a follower misses an event",
    file: "src/ports/follow-log.ts",
    from: "last = event.id",
    to: "last = event.id % 7 === 0 ? event.id + 1 : event.id",
    seed: 3,
  },
  {
    name: "a notice is lost with the process that took it",
    file: "src/adapters/memory/memory-outbox.ts",
    from: "stored.due_at = now + holdMs",
    to: "stored.due_at = Number.POSITIVE_INFINITY",
    seed: 46,
  },
  {
    name: "a call goes out before its run is stored",
    file: "src/run/log/lease-keeper.ts",
    from: "if (held.creating !== null) return held.creating",
    to: "",
    seed: 849,
  },
  {
    name: "a resumed run has all of its time again",
    file: "src/run/budget/time-limits.ts",
    from: "limit.most * 1000 - this.#counted(from, clock.now())",
    to: "limit.most * 1000",
    seed: 488,
  },
  {
    name: "a resumed run forgets what its calls have cost",
    file: "src/log/used.ts",
    from: "used.cost += spent.cost",
    to: "",
    seed: 402,
  },
  {
    name: "a tool's answer shows a secret",
    file: "src/run/tools/call-tool.ts",
    from: "const clean = running.redactor.redact(sent)",
    to: "const clean = sent",
    seed: 20,
  },
  {
    name: "a run that nobody waits for is resumed",
    file: "src/run/claims.ts",
    from: `"plan" in compiled && resumable && !cancel_requested`,
    to: `"plan" in compiled && !cancel_requested`,
    seed: 14,
  },
  {
    name: "a resumed run forgets how often it has called a tool",
    file: "src/run/run.ts",
    from: "toolCalls: past.toolCalls.size === 0 ? new Map() : new Map(past.toolCalls)",
    to: "toolCalls: new Map()",
    seed: 18,
  },
  {
    name: "the limits of an agent do not count",
    file: "src/run/budget/limit-scopes.ts",
    from: "agents.set(node.name, set)",
    to: "",
    seed: 191,
  },
  {
    name: "the limits of the workflow do not count",
    file: "src/run/budget/limit-scopes.ts",
    from: "const own = plan.limits?.[key]",
    to: "const own = undefined as number | undefined",
    seed: 148,
  },
  {
    name: "a re-run takes over what was said to another instruction",
    file: "src/run/agent/cache-key.ts",
    from: 'return `{"parts":[{"text":${JSON.stringify(part.text)},',
    to: 'return `{"parts":[{"text":"",',
    seed: 75,
  },
  {
    name: "what a re-run must run again is taken over",
    file: "src/log/earlier-run.ts",
    from: "if (this.#isForced(step)) return undefined",
    to: "",
    seed: 70,
  },
  {
    name: "two processes can fill one slot of a log",
    file: "src/adapters/nats/log-writer.ts",
    from: "const seq = await broker.putOnce(broker.names.slot",
    to: "const seq: number | null = await broker.put(broker.names.slot",
    on: "nats",
    seed: 7,
  },
  {
    name: "an idempotency key in the broker can be taken twice",
    file: "src/adapters/nats/idempotency-keys.ts",
    from: "(await this.#broker.putOnce(subject,",
    to: "(await this.#broker.put(subject,",
    on: "nats",
    seed: 1,
  },
  {
    name: "the last outcome of a question in the broker wins",
    file: "src/adapters/nats/questions.ts",
    from: "const seq = await this.#broker.putOnce(subject",
    to: "const seq: number | null = await this.#broker.put(subject",
    on: "nats",
    seed: 6,
  },
  {
    name: "a question that expires while it is asked is forgotten",
    file: "src/adapters/nats/questions.ts",
    from: "if (tail !== null && endOf(tail.facts) === null && tail.facts.fence <= entry.fence) return false",
    to: "",
    on: "nats",
    seed: 1_287,
  },
  {
    name: "a question that is asked again is looked for where it was asked first",
    file: "src/adapters/nats/questions.ts",
    from: "await this.#broker.put(names.question(run_id, entry.id),",
    to: "await this.#broker.putOnce(names.question(run_id, entry.id),",
    on: "nats",
    seed: 200_050,
  },
  {
    name: "a question that is asked again is taken for a remnant of its first attempt",
    file: "src/adapters/nats/questions.ts",
    from: `    const asked = await this.#askedAt(place)
    if (asked !== null) return this.#settle(asked, null)
    const tail = await this.#reader.tail(run_id)
    const entry = await this.#latestEntryAt(place)
    if (entry !== null) {
      if (tail !== null && endOf(tail.facts) === null && tail.facts.fence <= entry.fence) return false
      if ((await this.#askedBy(entry)) !== null) return false
`,
    to: `    const entry = await this.#entryAt(place)
    const asked = entry === null ? null : await this.#askedBy(entry)
    if (asked !== null) return this.#settle(asked, null)
    if (entry !== null) {
      if ((await this.#reader.slot(run_id, entry.slot, "sure")) === null) return false
`,
    on: "nats",
    seed: 200_878,
  },
  {
    name: "a notice that is stored again after it was delivered is delivered again",
    file: "src/adapters/nats/outbox.ts",
    from: "if (before === null) return false\n    const { facts: kept",
    to: "if (before === null || attempts === 0) return false\n    const { facts: kept",
    on: "nats",
    seed: 10_607,
  },
  {
    name: "a run in the broker can be claimed while its owner is well",
    file: "src/adapters/nats/signs-of-life.ts",
    from: "this.#note(run_id, fence, now - age, session)",
    to: "this.#note(run_id, fence, now - age - 10_000, session)",
    on: "nats",
    seed: 25,
  },
  {
    name: "a notice in the broker is lost with the process that took it",
    file: "src/adapters/nats/outbox.ts",
    from: "due_at: now + holdMs }",
    to: "due_at: now + 1e12 }",
    on: "nats",
    seed: 90,
  },
  {
    name: "a notice is lost with the process that parked its run",
    file: "src/adapters/nats/claims.ts",
    from: "await this.#parking.notify(run_id, head, tail)",
    to: "",
    on: "nats",
    seed: 1_591,
  },
  {
    name: "what finds a question is stored before the question",
    file: "src/adapters/nats/questions.ts",
    from: "await this.#broker.put(names.question(run_id, entry.id), packFrame(entry, []))\n      await Promise.all([",
    to: "await Promise.all([\n        this.#broker.put(names.question(run_id, entry.id), packFrame(entry, [])),",
    on: "nats",
    seed: 14_634,
  },
  {
    name: "a change of the key forgets the runs",
    file: "src/adapters/nats/key-change.ts",
    from: `...(await list("log", names.slot("*", 0))),`,
    to: "",
    on: "nats",
    seed: 5,
  },
  {
    name: "a change of the key forgets what others write meanwhile",
    file: "src/adapters/nats/key-change.ts",
    from: "this.#final = wait <= 0",
    to: "this.#final = true",
    on: "nats",
    seed: 203,
  },
  {
    name: "SQLite commits events before what they cause",
    file: "src/adapters/sqlite/writer.ts",
    from: "this.#remember(run, { fence, last, alone, bytes })\n    if (people",
    to: `this.#remember(run, { fence, last, alone, bytes })\n    this.#run("COMMIT")\n    this.#run("BEGIN IMMEDIATE")\n    if (people`,
    on: "sqlite",
    seed: 55,
  },
  {
    name: "SQLite does not count the attempts of a notice",
    file: "src/adapters/sqlite/outbox-writer.ts",
    from: "UPDATE outbox SET attempts = attempts + 1, due_at",
    to: "UPDATE outbox SET attempts = attempts, due_at",
    on: "sqlite",
    seed: 46,
  },
  {
    name: "SQLite renews a lease that is lost",
    file: "src/adapters/sqlite/lease-writer.ts",
    from: "UPDATE runs SET lease_until = ? WHERE run_id = ? AND fence = ? AND",
    to: "UPDATE runs SET lease_until = ? WHERE run_id = ? AND fence >= ? AND",
    on: "sqlite",
    seed: 12,
  },
]
