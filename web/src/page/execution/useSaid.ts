import { ApiError } from "../../api";
import { whyRefused } from "../../flow/refused";
import { useRefusal } from "./useRefusal";

/** Says the refusal of a guard in the sentence of the guard; other errors stay as they are. */
export function useSaid(): (error: Error | undefined) => Error | undefined {
  const refusal = useRefusal();
  return (error) => {
    if (!(error instanceof ApiError)) return error;
    const r = whyRefused({ code: error.code, message: error.message, details: error.details });
    if (!r) return error;
    const { code, status, advice, requestId, details, retryAfter } = error;
    return new ApiError({
      code,
      status,
      message: refusal(r),
      advice,
      requestId,
      details: { ...details },
      retryAfter,
    });
  };
}
