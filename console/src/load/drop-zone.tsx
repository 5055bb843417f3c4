import type { JSX } from 'preact';
import { useRef, useState } from 'preact/hooks';
import { Button } from '../parts/button.tsx';
import { Icon } from '../parts/icon.tsx';

export function DropZone({ onFile }: { readonly onFile: (file: File) => void }): JSX.Element {
  const input = useRef<HTMLInputElement>(null);
  const [isOver, setIsOver] = useState(false);
  const take = (files: FileList | null | undefined): void => {
    const file = files?.item(0);
    if (file !== null && file !== undefined) onFile(file);
  };
  const onDrop = (event: DragEvent): void => {
    event.preventDefault();
    setIsOver(false);
    take(event.dataTransfer?.files);
  };
  const onDragOver = (event: DragEvent): void => {
    event.preventDefault();
    setIsOver(true);
  };
  return (
    <div
      class={isOver ? 'drop-zone over' : 'drop-zone'}
      onDragOver={onDragOver}
      onDragLeave={() => setIsOver(false)}
      onDrop={onDrop}
    >
      <Icon name="upload" />
      <h2>Drop a file here</h2>
      <p class="muted">.arrow · .feather · .parquet · .csv · .tsv · .json · .ndjson · .jsonl</p>
      <Button kind="primary" onClick={() => input.current?.click()}>
        Choose a file
      </Button>
      <input
        ref={input}
        class="hidden"
        type="file"
        tabIndex={-1}
        aria-label="File to load"
        onChange={(event) => take(event.currentTarget.files)}
      />
    </div>
  );
}
