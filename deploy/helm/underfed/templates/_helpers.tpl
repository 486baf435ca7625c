{{- define "underfed.name" -}}
{{- if contains "underfed" .Release.Name }}{{ .Release.Name | trunc 50 | trimSuffix "-" }}{{ else }}{{ printf "%s-underfed" .Release.Name | trunc 50 | trimSuffix "-" }}{{ end }}
{{- end }}

{{- define "underfed.selector" -}}
app.kubernetes.io/name: underfed
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "underfed.labels" -}}
{{ include "underfed.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version }}
{{- end }}

{{- define "underfed.image" -}}
{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}
{{- end }}

{{- define "underfed.secret" -}}
{{ .Values.secrets.existing | default (include "underfed.name" .) }}
{{- end }}

{{- /* One service process: the same with a file and with PostgreSQL. */ -}}
{{- define "underfed.pod" -}}
metadata:
  labels:
    {{- include "underfed.labels" . | nindent 4 }}
  {{- with .Values.proxyGroups }}
  # Groups are read at the start: other ones start the service anew.
  annotations:
    checksum/groups: {{ toJson . | sha256sum }}
  {{- end }}
spec:
  automountServiceAccountToken: false
  # Writes what waits before it goes.
  terminationGracePeriodSeconds: 40
  {{- with .Values.imagePullSecrets }}
  imagePullSecrets:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  securityContext:
    runAsNonRoot: true
    runAsUser: 10001
    runAsGroup: 10001
    fsGroup: 10001
    fsGroupChangePolicy: OnRootMismatch
    seccompProfile:
      type: RuntimeDefault
  containers:
    - name: underfed
      image: {{ include "underfed.image" . }}
      imagePullPolicy: {{ .Values.image.pullPolicy }}
      args:
        - --host=0.0.0.0
        - --log-format=json
        - --log-level=info
        {{- if .Values.postgresql.url }}
        - {{ printf "--db=%s" .Values.postgresql.url | quote }}
        {{- else if .Values.backupEvery }}
        - --backup-every={{ .Values.backupEvery }}
        {{- end }}
        {{- with .Values.proxyAddress }}
        - --proxy-address={{ . }}
        {{- end }}
        {{- with .Values.proxyUserHeader }}
        - --proxy-user-header={{ . }}
        {{- end }}
        {{- if .Values.proxyGroups }}
        - --proxy-groups=/etc/underfed/groups.json
        {{- with .Values.proxyGroupsHeader }}
        - --proxy-groups-header={{ . }}
        {{- end }}
        {{- end }}
        {{- with .Values.publicUrl }}
        - --public-url={{ . }}
        {{- end }}
        {{- range .Values.extraArgs }}
        - {{ . | quote }}
        {{- end }}
      env:
        - name: UNDERFED_TOKEN
          valueFrom: { secretKeyRef: { name: {{ include "underfed.secret" . }}, key: token } }
        - name: UNDERFED_SECRET_KEY
          valueFrom: { secretKeyRef: { name: {{ include "underfed.secret" . }}, key: secret-key, optional: true } }
        {{- if .Values.postgresql.url }}
        # libpq reads it: a password in --db could be seen in the list of processes.
        - name: PGPASSWORD
          valueFrom: { secretKeyRef: { name: {{ .Values.postgresql.passwordSecret }}, key: {{ .Values.postgresql.passwordKey }} } }
        {{- end }}
        {{- with .Values.extraEnv }}
        {{- toYaml . | nindent 8 }}
        {{- end }}
      ports:
        - { name: http, containerPort: 7077 }
      # An upgrade of a large database takes its time.
      startupProbe:
        httpGet: { path: /healthz, port: http }
        periodSeconds: 2
        failureThreshold: 150
      readinessProbe:
        httpGet: { path: /readyz, port: http }
        periodSeconds: 10
        timeoutSeconds: 8
      # Not /readyz: a full disk is not mended by starting again.
      livenessProbe:
        httpGet: { path: /healthz, port: http }
        periodSeconds: 20
        timeoutSeconds: 8
        failureThreshold: 6
      securityContext:
        allowPrivilegeEscalation: false
        readOnlyRootFilesystem: true
        capabilities:
          drop: [ALL]
      resources:
        {{- toYaml .Values.resources | nindent 8 }}
      volumeMounts:
        - { name: data, mountPath: /var/lib/underfed }
        {{- if .Values.proxyGroups }}
        - { name: groups, mountPath: /etc/underfed, readOnly: true }
        {{- end }}
  {{- if or .Values.postgresql.url .Values.proxyGroups }}
  volumes:
    {{- if .Values.postgresql.url }}
    - name: data
      emptyDir: {}
    {{- end }}
    {{- if .Values.proxyGroups }}
    - name: groups
      configMap: { name: {{ include "underfed.name" . }}-groups }
    {{- end }}
  {{- end }}
  {{- with .Values.nodeSelector }}
  nodeSelector:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with .Values.tolerations }}
  tolerations:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with .Values.affinity }}
  affinity:
    {{- toYaml . | nindent 4 }}
  {{- end }}
{{- end }}
