import type { ModelApi } from "../../adapters/model-turn/model-api.ts"
import { responsesApi } from "../../adapters/responses/responses-api.ts"
import type { ApiName } from "../../check/provider-kinds.ts"

/** The APIs by which models are called. The packages behind the others than `/responses` are loaded when first needed. */
export function modelApi(name: ApiName): ModelApi | Promise<ModelApi> {
  switch (name) {
    case "responses":
      return responsesApi
    case "chat":
      return import("../../adapters/ai-sdk/chat-api.ts").then(({ chatApi }) => chatApi)
    case "anthropic":
      return import("../../adapters/ai-sdk/anthropic-api.ts").then(({ anthropicApi }) => anthropicApi)
    case "google":
      return import("../../adapters/ai-sdk/google-api.ts").then(({ googleApi }) => googleApi)
  }
}
