import type { ModelApi } from "../adapters/model-turn/model-api.ts"
import { responsesApi } from "../adapters/responses/responses-api.ts"
import type { ApiName } from "../check/provider-kinds.ts"

/** The APIs by which models are called. The packages behind the others than `/responses` are loaded when first needed. */
export function modelApi(name: ApiName): ModelApi | Promise<ModelApi> {
  switch (name) {
    case "responses":
      return responsesApi
    case "chat":
    case "anthropic":
    case "google":
      throw new Error(`The API ${name} is not there yet`)
  }
}
