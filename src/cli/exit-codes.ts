/** What the exit code of a command tells; `docs/guides/command-line.md` lists them. */
export const EXIT = {
  done: 0,
  /** The server or the system refused, or something failed. */
  failed: 1,
  /** Wrong words or settings: the caller must change the command first. */
  usage: 2,
  /** No server answered, or it cannot serve now: the same command may succeed later. */
  unavailable: 3,
  /** No key was given, or it is not valid or not enough for this. */
  forbidden: 4,
  /** What the command names is not there. */
  missing: 5,
  /** Stopped by Ctrl-C, after it put away what it had made; what shells expect for that signal. */
  interrupted: 130,
} as const;
