import type { ClientError } from '../../client/client-error.ts';
import { ConnectionError, findSqlPosition } from '../../client/client-error.ts';
import { DEFAULT_DELIMITER } from '../../model/identifier.ts';
import { EXIT } from '../command.ts';
import type { Given } from '../options.ts';
import type { Session } from '../session.ts';
import type { Paint } from './text.ts';
import { paintForErrors, textWidth, visibleText } from './text.ts';

/** What was wrong, its position in an SQL text, then what would be right: `advice`, otherwise the server's hint. */
export function showRefusal(
  error: ClientError | ConnectionError,
  { terminal, given, sqlTexts }: Pick<Session, 'terminal' | 'given' | 'sqlTexts'>,
  advice: string | undefined,
): string {
  const paint = paintForErrors(terminal);
  const show = (text: string): string => visibleText(asTyped(text, given));
  const lines = [`${paint.red('tiltyard:')} ${show(error.message)}`, ...markPosition(error, sqlTexts, paint)];
  const hint = advice ?? error.hint;
  if (hint !== undefined) lines.push(`${paint.cyan('hint:')} ${show(hint)}`);
  if (!(error instanceof ConnectionError) && error.status >= 500 && error.requestId !== undefined) {
    lines.push(paint.dim(`request id ${error.requestId}`));
  }
  return `${lines.join('\n')}\n`;
}

/**
 * The server joins names with `$`. Quoted paths that were typed with slashes, and their parents, are shown with
 * slashes.
 */
function asTyped(message: string, { words }: Given): string {
  let text = message;
  for (const word of words.filter((each) => each.includes('/'))) {
    const names = word.split('/');
    for (let length = names.length; length > 1; length -= 1) {
      const path = names.slice(0, length);
      text = text.replaceAll(`"${path.join(DEFAULT_DELIMITER)}"`, () => `"${path.join('/')}"`);
    }
  }
  return text;
}

/** For programs that requested JSON, and read it from the error output. */
export function refusalToJson(error: ClientError | ConnectionError): object {
  if (error instanceof ConnectionError)
    return { error: { message: error.message, hint: error.hint, reason: error.code } };
  const { status, code, title, message, hint, requestId } = error;
  return { error: { status, code, title, message, hint, request_id: requestId } };
}

export function exitCodeOf(error: ClientError | ConnectionError): number {
  if (error instanceof ConnectionError || error.status === 503) return EXIT.unavailable;
  if (error.status === 401 || error.status === 403) return EXIT.forbidden;
  return error.status === 404 ? EXIT.missing : EXIT.failed;
}

const CHARACTERS_AROUND = 60;

/** The SQL text, cut around the position if it is long, with a caret below. */
function markPosition(error: Error, sqlTexts: Session['sqlTexts'], paint: Paint): readonly string[] {
  const position = findSqlPosition(error.message);
  const text = position && sqlTexts.get(position.text);
  if (position === undefined || text === undefined) return [];
  const characters = Array.from(text);
  const at = Math.min(position.character - 1, characters.length);
  const start = Math.max(0, at - CHARACTERS_AROUND);
  const end = at + CHARACTERS_AROUND;
  const before = `${start > 0 ? '…' : ''}${visibleText(characters.slice(start, at).join(''))}`;
  const after = `${visibleText(characters.slice(at, end).join(''))}${end < characters.length ? '…' : ''}`;
  return [`  ${before}${after}`, `  ${' '.repeat(textWidth(before))}${paint.red('^')}`];
}
