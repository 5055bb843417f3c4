export type Watchdog = ReturnType<typeof startWatchdog>;

const CHECKS = 8;

/**
 * Counts checks without a message instead of reading a clock: if this process itself was paused, by a debugger or a
 * suspended machine, only one check has passed, and messages that arrived meanwhile are still read. `onSilent` is
 * called once.
 */
export function startWatchdog(seconds: number, onSilent: () => void) {
  const checkMilliseconds = (seconds * 1000) / CHECKS;
  let silentChecks = 0;
  const check = (): void => {
    silentChecks += 1;
    if (silentChecks > CHECKS) onSilent();
    else timer = setTimeout(check, checkMilliseconds);
  };
  let timer = setTimeout(check, checkMilliseconds);
  return {
    heard(): void {
      silentChecks = 0;
    },
    stop: (): void => clearTimeout(timer),
  };
}
