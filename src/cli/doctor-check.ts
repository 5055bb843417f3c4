/** One thing that was looked at. */
export interface Check {
  readonly name: string;
  /** `warning`: it works, but not for long, or not as it should. */
  readonly state: 'good' | 'warning' | 'bad';
  readonly found: string;
  /** What to do. */
  readonly advice?: string;
}

export function good(name: string, found: string): Check {
  return { name, state: 'good', found };
}

export function warning(name: string, found: string, advice: string): Check {
  return { name, state: 'warning', found, advice };
}

export function bad(name: string, found: string, advice: string): Check {
  return { name, state: 'bad', found, advice };
}
