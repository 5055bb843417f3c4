import type { ClientError } from '../../client/client-error.ts';
import { ConnectionError, findSqlPosition } from '../../client/client-error.ts';
import { EXIT } from '../command.ts';
import type { Paint } from './text.ts';
import { textWidth, visibleText } from './text.ts';

export interface RefusalView {
  readonly paint: Paint;
  /** The SQL texts that were sent, under the names by which refusals call them. */
  readonly sqlTexts: ReadonlyMap<string, string>;
  /** What helps more than the server's own hint, such as how a command is given a key. */
  readonly advice?: string | undefined;
}

/** What was wrong, the place in a SQL text, then what would be right. */
export function showRefusal(error: ClientError | ConnectionError, view: RefusalView): string {
  const { paint } = view;
  const lines = [`${paint.red('tiltyard:')} ${visibleText(error.message)}`, ...markPlace(error, view)];
  if (error instanceof ConnectionError) return joined([...lines, `${paint.cyan('hint:')} ${view.advice ?? ''}`]);
  const hint = view.advice ?? error.hint;
  if (hint !== undefined) lines.push(`${paint.cyan('hint:')} ${visibleText(hint)}`);
  const isFaultOfServer = error.status >= 500 && error.requestId !== undefined;
  return joined([...lines, isFaultOfServer ? paint.dim(`request id ${error.requestId}`) : undefined]);
}

/** For programs, which read the error output as JSON when they asked for it. */
export function refusalToJson(error: ClientError | ConnectionError): object {
  if (error instanceof ConnectionError) return { error: { message: error.message, reason: error.code } };
  const { status, code, title, message, hint, requestId } = error;
  return { error: { status, code, title, message, hint, request_id: requestId } };
}

export function exitCodeOf(error: ClientError | ConnectionError): number {
  if (error instanceof ConnectionError || error.status === 503) return EXIT.unavailable;
  if (error.status === 401 || error.status === 403) return EXIT.forbidden;
  return error.status === 404 ? EXIT.missing : EXIT.failed;
}

function joined(lines: readonly (string | undefined)[]): string {
  return lines
    .filter((line) => line !== undefined)
    .map((line) => `${line}\n`)
    .join('');
}

const AROUND = 60;

/** The text itself, cut around the place when it is long, and a caret below. */
function markPlace(error: Error, { sqlTexts, paint }: RefusalView): readonly string[] {
  const place = findSqlPosition(error.message);
  const text = place === undefined ? undefined : sqlTexts.get(place.text);
  if (place === undefined || text === undefined) return [];
  const characters = Array.from(text);
  const at = Math.min(place.character - 1, characters.length);
  const start = Math.max(0, at - AROUND);
  const before = `${start > 0 ? '…' : ''}${visibleText(characters.slice(start, at).join(''))}`;
  const after = visibleText(characters.slice(at, at + AROUND).join(''));
  const more = at + AROUND < characters.length ? '…' : '';
  return [`  ${before}${after}${more}`, `  ${' '.repeat(textWidth(before))}${paint.red('^')}`];
}
