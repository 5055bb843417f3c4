import type { Terminal } from '../command.ts';

type Painted = (text: string) => string;

/** Colours of a terminal, or none at all. */
export interface Paint {
  readonly bold: Painted;
  readonly dim: Painted;
  readonly red: Painted;
  readonly green: Painted;
  readonly yellow: Painted;
  readonly cyan: Painted;
}

/** For the output: colours only when a person reads it, and does not mind them (https://no-color.org). */
export function paintFor(terminal: Terminal): Paint {
  return terminal.columns !== undefined && wantsColours(terminal) ? COLOURS : PLAIN;
}

/** The same for the error output. */
export function paintForErrors(terminal: Terminal): Paint {
  return terminal.status !== undefined && wantsColours(terminal) ? COLOURS : PLAIN;
}

function wantsColours({ env }: Terminal): boolean {
  return (env['NO_COLOR'] ?? '') === '' && env['TERM'] !== 'dumb';
}

function code(start: number, end: number): Painted {
  return (text) => (text === '' ? '' : `\u001b[${start}m${text}\u001b[${end}m`);
}

const COLOURS: Paint = {
  bold: code(1, 22),
  dim: code(2, 22),
  red: code(31, 39),
  green: code(32, 39),
  yellow: code(33, 39),
  cyan: code(36, 39),
};

const same: Painted = (text) => text;
const PLAIN: Paint = { bold: same, dim: same, red: same, green: same, yellow: same, cyan: same };
