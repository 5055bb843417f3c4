import type { JSX } from 'preact';
import type { JsonValue } from '../../../../src/client/rows.ts';
import type { TypeJson } from '../../../../src/wire/schema/schema-json.ts';
import { Button } from '../button.tsx';
import { byteCount, imageAddress, toNumbers, toText, Sparkline } from './cell.tsx';
import { Dialog } from '../dialog.tsx';
import { isBinary, isVector } from './field-type.ts';
import { formatBytes } from '../format.ts';
import { toast, toastError } from '../toasts.tsx';

interface ValueDialogProps {
  readonly title: string;
  readonly value: JsonValue | undefined;
  readonly type?: TypeJson | undefined;
  readonly onClose: () => void;
}

const SHOWN_CHARACTERS_MAX = 100_000;

export function ValueDialog({ title, value = null, type, onClose }: ValueDialogProps): JSX.Element {
  const text = typeof value === 'string' ? value : toText(value, 2);
  const copy = (): void => {
    navigator.clipboard.writeText(text).then(() => toast('Copied.'), toastError);
  };
  return (
    <Dialog title={title} onClose={onClose} isWide>
      <div class="body">
        <Shown value={value} type={type} text={text} />
        <div class="actions">
          <Button icon="copy" onClick={copy}>
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
  if (typeof value === 'string' && type !== undefined && isBinary(type)) return <BytesValue base64={value} />;
  return <pre class="value">{text.slice(0, SHOWN_CHARACTERS_MAX)}</pre>;
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
      {address === undefined ? null : <img class="picture" src={address} alt="The picture in this cell" />}
      <p class="muted">{formatBytes(byteCount(base64))}, as base 64:</p>
      <pre class="value">{base64.slice(0, SHOWN_CHARACTERS_MAX)}</pre>
    </>
  );
}
