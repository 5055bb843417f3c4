/**
 * The display name of a caller: the name of its key or client, or the subject of its token. `name` comes from the
 * server.
 */
export function callerText(caller: string, name: string | undefined): string {
  if (name !== undefined) return name;
  const [kind = '', rest = ''] = caller.split(/:(.*)/s, 2);
  if (kind === 'key' || kind === 'client') return `deleted ${kind} …${rest.slice(-ID_DIGITS)}`;
  return kind === 'token' ? rest.slice(rest.indexOf('#') + 1) : caller;
}

/** Shows the end of an id, because ids from the same minute begin alike. */
const ID_DIGITS = 6;
