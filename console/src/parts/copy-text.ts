import { toast, toastError } from './toasts.tsx';

/** Browsers offer the clipboard only over HTTPS and on this machine; elsewhere the old command still works. */
export function copyText(text: string, message = 'Copied.'): void {
  if ('clipboard' in navigator) {
    navigator.clipboard.writeText(text).then(() => toast(message), toastError);
  } else if (copySelected(text)) toast(message);
  else toast('The browser does not allow copying. Select the text and copy it.', 'bad');
}

function copySelected(text: string): boolean {
  const area = document.createElement('textarea');
  area.value = text;
  // Inside an open dialog, because text outside it cannot be selected.
  const parent = document.querySelector('dialog[open]') ?? document.body;
  parent.append(area);
  area.select();
  const isCopied = document.execCommand('copy');
  area.remove();
  return isCopied;
}
