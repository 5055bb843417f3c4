import { styleText } from 'node:util';
import type { Terminal } from '../command.ts';

type Style = 'bold' | 'dim' | 'red' | 'green' | 'yellow' | 'cyan';

/** Styles of a terminal, or none at all. */
export type Paint = Readonly<Record<Style, (text: string) => string>>;

/** For the output: colours only at a terminal, and if they are not turned off (https://no-color.org). */
export function paintFor(terminal: Terminal): Paint {
  return toPaint(terminal.columns !== undefined && wantsColours(terminal));
}

/** The same for the error output. */
export function paintForErrors(terminal: Terminal): Paint {
  return toPaint(terminal.status !== undefined && wantsColours(terminal));
}

function wantsColours({ env }: Terminal): boolean {
  return (env['NO_COLOR'] ?? '') === '' && env['TERM'] !== 'dumb';
}

function toPaint(hasColours: boolean): Paint {
  // Whether there are colours is decided here, from the terminal that was handed in, not by `styleText`.
  const style = (name: Style) => (text: string) =>
    hasColours && text !== '' ? styleText(name, text, { validateStream: false }) : text;
  return {
    bold: style('bold'),
    dim: style('dim'),
    red: style('red'),
    green: style('green'),
    yellow: style('yellow'),
    cyan: style('cyan'),
  };
}
