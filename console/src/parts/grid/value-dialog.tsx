import type { JSX } from 'preact';
import type { JsonValue } from '../../../../src/client/rows.ts';
import type { TypeJson } from '../../../../src/wire/schema/schema-json.ts';
import { Button } from '../button.tsx';
import { byteCount, imageAddress, isBytes, toNumbers, toText, Sparkline } from './cell.tsx';
import { copyText } from '../copy-text.ts';
import { Dialog } from '../dialog.tsx';
import { isVector } from './field-type.ts';
import { formatBytes, formatCount } from '../format.ts';

interface ValueDialogProps {
  readonly title: string;
  readonly value: JsonValue | undefined;
  readonly type?: TypeJson | undefined;
  readonly onClose: () => void;
}

const SHOWN_CHARACTERS_MAX = 100_000;

export function ValueDialog({ title, value = null, type, onClose }: ValueDialogProps): JSX.Element {
  const text = typeof value === 'string' ? value : toText(value, 2);
  return (
    <Dialog title={title} onClose={onClose} isWide>
      <div class="body">
        <Shown value={value} type={type} text={text} />
        <div class="actions">
          <Button icon="copy" onClick={() => copyText(text)}>
            Copy
          </Button>
        </div>
      </div>
    </Dialog>
  );
}

interface ShownProps {
  readonly value: JsonValue;
  readonly type: TypeJson | undefined;
  readonly text: string;
}

function Shown({ value, type, text }: ShownProps): JSX.Element {
  const numbers = type === undefined || isVector(type) ? toNumbers(value) : undefined;
  if (numbers !== undefined) return <VectorValue values={numbers} />;
  if (typeof value === 'string' && isBytes(value, type)) return <BytesValue base64={value} />;
  return (
    <>
      <pre class="value">{text.slice(0, SHOWN_CHARACTERS_MAX)}</pre>
      {text.length > SHOWN_CHARACTERS_MAX ? (
        <p class="hint">
          The first {formatCount(SHOWN_CHARACTERS_MAX)} of {formatCount(text.length)} characters. Copy copies all of
          them.
        </p>
      ) : null}
    </>
  );
}

function VectorValue({ values }: { readonly values: readonly number[] }): JSX.Element {
  const length = Math.sqrt(values.reduce((sum, each) => sum + each * each, 0));
  return (
    <>
      <Sparkline values={values} width={800} height={120} />
      <p class="muted">
        {values.length} dimensions · length {length.toPrecision(5)} · from {Math.min(...values).toPrecision(4)} to{' '}
        {Math.max(...values).toPrecision(4)}
      </p>
      <pre class="value">[{values.join(', ')}]</pre>
    </>
  );
}

function BytesValue({ base64 }: { readonly base64: string }): JSX.Element {
  const address = imageAddress(base64);
  return (
    <>
      {address === undefined ? null : <img class="picture" src={address} alt="The image in this cell" />}
      <p class="muted">{formatBytes(byteCount(base64))}</p>
      <details open={address === undefined}>
        <summary>Base64</summary>
        <pre class="value">{base64.slice(0, SHOWN_CHARACTERS_MAX)}</pre>
      </details>
    </>
  );
}
