{{/* The pod of a node: alone with a volume (statefulset.yaml), or one of several (deployment.yaml). */}}
{{- define "tiltyard.pod" -}}
metadata:
  labels:
    {{- include "tiltyard.labels" . | nindent 4 }}
  {{- with .Values.podAnnotations }}
  annotations:
    {{- toYaml . | nindent 4 }}
  {{- end }}
spec:
  automountServiceAccountToken: false
  {{- with .Values.serviceAccountName }}
  serviceAccountName: {{ . }}
  {{- end }}
  enableServiceLinks: false
  # More than preStop, http.drainSeconds and 10 seconds.
  terminationGracePeriodSeconds: 60
  {{- with .Values.imagePullSecrets }}
  imagePullSecrets:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  securityContext:
    runAsNonRoot: true
    runAsUser: 1000
    runAsGroup: 1000
    fsGroup: 1000
    fsGroupChangePolicy: OnRootMismatch
    seccompProfile:
      type: RuntimeDefault
  containers:
    - name: tiltyard
      image: "{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}"
      imagePullPolicy: {{ .Values.image.pullPolicy }}
      args: [serve]
      securityContext:
        allowPrivilegeEscalation: false
        readOnlyRootFilesystem: true
        capabilities:
          drop: [ALL]
      env:
        - name: TILTYARD_ADMIN_KEY
          valueFrom:
            secretKeyRef:
              name: {{ include "tiltyard.secret" . }}
              key: admin-key
        {{- if .Values.cluster.enabled }}
        - name: TILTYARD_CATALOG_URL
          valueFrom:
            secretKeyRef:
              name: {{ .Values.cluster.existingSecret }}
              key: catalog-url
        - name: TILTYARD_NODE_SECRET
          valueFrom:
            secretKeyRef:
              name: {{ .Values.cluster.existingSecret }}
              key: node-secret
        - name: POD_IP
          valueFrom:
            fieldRef:
              fieldPath: status.podIP
        # The address at which the other nodes reach this one.
        - name: TILTYARD_NODE_URL
          value: {{ ternary "http://[$(POD_IP)]:2333" "http://$(POD_IP):2333" .Values.cluster.ipv6 | quote }}
        - name: TILTYARD_STORAGE_ROOT
          value: {{ .Values.cluster.storageRoot | quote }}
        {{- end }}
        {{- range $name, $value := .Values.settings }}
        - name: {{ $name }}
          value: {{ ternary $value (toJson $value) (kindIs "string" $value) | quote }}
        {{- end }}
        {{- with .Values.extraEnv }}
        {{- toYaml . | nindent 8 }}
        {{- end }}
      ports:
        - name: http
          containerPort: 2333
      {{- if .Values.cluster.enabled }}
      # New connections are refused from the signal on: first the service must have stopped to send them here.
      lifecycle:
        preStop:
          exec:
            command: [sleep, '5']
      {{- end }}
      startupProbe:
        httpGet:
          path: /readyz
          port: http
        periodSeconds: 2
        failureThreshold: 90
      readinessProbe:
        httpGet:
          path: /readyz
          port: http
        periodSeconds: 5
        timeoutSeconds: 3
      livenessProbe:
        httpGet:
          path: /healthz
          port: http
        periodSeconds: 10
        timeoutSeconds: 5
        failureThreshold: 6
      resources:
        {{- toYaml .Values.resources | nindent 8 }}
      volumeMounts:
        - name: data
          mountPath: /data
        - name: tmp
          mountPath: /tmp
  volumes:
    - name: tmp
      emptyDir: {}
    {{- if .Values.cluster.enabled }}
    # Uploads in progress and the identity of the folder; all that must last is in PostgreSQL and the object store.
    - name: data
      emptyDir:
        sizeLimit: {{ .Values.cluster.uploadsSize }}
    {{- end }}
  {{- with .Values.nodeSelector }}
  nodeSelector:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with .Values.tolerations }}
  tolerations:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- if .Values.cluster.enabled }}
  topologySpreadConstraints:
    - maxSkew: 1
      topologyKey: kubernetes.io/hostname
      whenUnsatisfiable: ScheduleAnyway
      labelSelector:
        matchLabels:
          {{- include "tiltyard.selector" . | nindent 10 }}
  {{- end }}
  {{- with .Values.affinity }}
  affinity:
    {{- toYaml . | nindent 4 }}
  {{- end }}
{{- end }}
