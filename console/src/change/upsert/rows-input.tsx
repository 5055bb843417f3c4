import type { JSX } from 'preact';
import { useId, useRef, useState } from 'preact/hooks';
import { Button } from '../../parts/button.tsx';
import { formatBytes } from '../../parts/format.ts';

interface RowsInputProps {
  readonly text: string;
  /** Takes precedence over the text. */
  readonly file: File | undefined;
  readonly onText: (text: string) => void;
  readonly onFile: (file: File | undefined) => void;
}

/** Rows to paste, or a file to drop. */
export function RowsInput({ text, file, onText, onFile }: RowsInputProps): JSX.Element {
  const id = useId();
  const input = useRef<HTMLInputElement>(null);
  const [isOver, setIsOver] = useState(false);
  const onDrop = (event: DragEvent): void => {
    event.preventDefault();
    setIsOver(false);
    onFile(event.dataTransfer?.files.item(0) ?? undefined);
  };
  const onDragOver = (event: DragEvent): void => {
    event.preventDefault();
    setIsOver(true);
  };
  return (
    <div
      class={isOver ? 'field rows-input over' : 'field rows-input'}
      onDragOver={onDragOver}
      onDragLeave={() => setIsOver(false)}
      onDrop={onDrop}
    >
      <label for={id}>Rows</label>
      {file === undefined ? (
        <textarea
          id={id}
          class="mono"
          rows={8}
          spellcheck={false}
          placeholder={'id,price\n7,19.5\n\nor {"id": 7, "price": 19.5}'}
          value={text}
          onInput={(event) => onText(event.currentTarget.value)}
        />
      ) : (
        <p id={id}>
          <strong>{file.name}</strong> <span class="muted">{formatBytes(file.size)}</span>
        </p>
      )}
      <p class="hint">Paste CSV with a header or JSON objects, or drop an Arrow, Parquet, CSV or JSON file.</p>
      <div class="actions">
        <Button icon="upload" onClick={() => input.current?.click()}>
          Choose a file
        </Button>
        {file === undefined ? null : (
          <Button icon="close" onClick={() => onFile(undefined)}>
            Paste instead
          </Button>
        )}
      </div>
      <input
        ref={input}
        class="hidden"
        type="file"
        tabIndex={-1}
        aria-label="File with rows"
        onChange={(event) => onFile(event.currentTarget.files?.item(0) ?? undefined)}
      />
    </div>
  );
}
