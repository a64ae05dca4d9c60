// Loaded before each file of tests. Node's test runner follows every promise with an async hook, so that it knows which test a
// call or an error belongs to; that makes code with many promises several times as expensive. An AsyncLocalStorage knows the same
// for almost nothing. Only what the runner asks `async_hooks` for is replaced.

const hooks = require("node:async_hooks")
const { AsyncLocalStorage, AsyncResource, createHook, executionAsyncId } = hooks

/** The id of the test, suite or hook that runs. */
const running = new AsyncLocalStorage()

/** @type {import("node:async_hooks").HookCallbacks} The runner's own. */
let runner = {}

hooks.createHook = (/** @type {import("node:async_hooks").HookCallbacks} */ callbacks) => {
  const hook = createHook(callbacks)
  if (!/\(node:internal\/test_runner\/harness:/.test(new Error("Who asks?").stack ?? "")) return hook
  runner = callbacks
  hook.enable = () => hook
  return hook
}

hooks.executionAsyncId = () => /** @type {number | undefined} */ (running.getStore()) ?? executionAsyncId()

// The runner runs tests, suites and hooks in their own scopes: they are resources, all of a class `Test` or of one that extends it.
const original = Object.getOwnPropertyDescriptor(AsyncResource.prototype, "runInAsyncScope")?.value
/** @type {typeof AsyncResource.prototype.runInAsyncScope} @this {import("node:async_hooks").AsyncResource} */
AsyncResource.prototype.runInAsyncScope = function (run, self, ...args) {
  if (!isOfRunner(this)) return Reflect.apply(original, this, [run, self, ...args])
  const id = this.asyncId()
  runner.init?.(id, "Test", 0, this)
  const inside = () => running.run(id, () => Reflect.apply(run, self, args))
  return Reflect.apply(original, this, [inside])
}

/** @param {import("node:async_hooks").AsyncResource} resource */
function isOfRunner(resource) {
  for (let type = resource.constructor; type !== AsyncResource; type = Object.getPrototypeOf(type)) {
    if (typeof type !== "function") return false
    if (type.name === "Test") return true
  }
  return false
}
