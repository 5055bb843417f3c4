/** What people call a caller: the name of its key or client, the subject of its token. `name` is as the server gave it. */
export function callerText(caller: string, name: string | undefined): string {
  if (name !== undefined) return name;
  const [kind = '', rest = ''] = caller.split(/:(.*)/s, 2);
  if (kind === 'key' || kind === 'client') return `deleted ${kind} …${rest.slice(-ID_DIGITS)}`;
  return kind === 'token' ? rest.slice(rest.indexOf('#') + 1) : caller;
}

/** The end of an id: ids of the same minute begin alike. */
const ID_DIGITS = 6;
