declare module 'swagger-ui-dist/swagger-ui-es-bundle.js' {
  interface Viewer {
    preauthorizeApiKey: (scheme: string, secret: string) => void;
  }
  /** The part of its settings and of its plugins' interface that the reference uses. */
  export default function SwaggerUi(settings: Readonly<Record<string, unknown>>): Viewer;
}
