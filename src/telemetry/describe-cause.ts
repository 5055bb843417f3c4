const CAUSES_MAX = 5;
const STACK_CHARACTERS_MAX = 8192;

/** Each error of the chain with its stack, the outermost first. Bounded: engine errors can carry whole plans. */
export function describeCause(cause: unknown): readonly string[] {
  const details: string[] = [];
  let current = cause;
  while (current !== undefined && current !== null && details.length < CAUSES_MAX) {
    details.push(describe(current));
    current = current instanceof Error ? current.cause : undefined;
  }
  return details;
}

function describe(cause: unknown): string {
  if (cause instanceof Error) {
    const message = `${cause.name}: ${cause.message}`;
    const stack = cause.stack ?? '';
    return cut(stack.includes(cause.message) ? stack : `${message}\n${stack}`);
  }
  return cut(typeof cause === 'string' ? cause : `a thrown ${typeof cause}`);
}

function cut(text: string): string {
  return text.length > STACK_CHARACTERS_MAX ? `${text.slice(0, STACK_CHARACTERS_MAX)}…` : text;
}
