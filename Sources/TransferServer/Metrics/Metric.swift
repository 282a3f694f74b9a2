/// All metrics of a server; docs/reference/metrics.md has the same list.
enum Metric: String, CaseIterable, Sendable {
    case build = "transfer_build"
    case ready = "transfer_ready"
    case unready = "transfer_unready"
    case uploads = "transfer_uploads"
    case uploadSeconds = "transfer_upload_duration_seconds"
    case commitSeconds = "transfer_commit_duration_seconds"
    case syncSeconds = "transfer_sync_duration_seconds"
    case received = "transfer_received_bytes"
    case sent = "transfer_sent_bytes"
    case running = "transfer_uploads_running"
    case unfinished = "transfer_unfinished_uploads"
    case unfinishedBytes = "transfer_unfinished_bytes"
    case connections = "transfer_connections"
    case accepted = "transfer_connections_accepted"
    case refusedConnections = "transfer_connections_refused"
    case refusedAuthentications = "transfer_authentications_refused"
    case requests = "transfer_http_requests"
    case watchers = "transfer_http_event_watchers"
    case poolThreads = "transfer_pool_threads"
    case poolQueue = "transfer_pool_queue_length"
    case buffers = "transfer_buffers_used"
    case buffersLimit = "transfer_buffers_limit"
    case unsent = "transfer_unsent_bytes"
    case diskFree = "transfer_disk_free_bytes"
    case diskSize = "transfer_disk_size_bytes"
    case quotaUsed = "transfer_quota_used_bytes"
    case quotaLimit = "transfer_quota_limit_bytes"
    case catalogUploads = "transfer_catalog_uploads"
    case mailWaiting = "transfer_mail_waiting"
    case mailWaitingBytes = "transfer_mail_waiting_bytes"
    case objectRequests = "transfer_object_requests"
    case objectRepetitions = "transfer_object_repetitions"
    case objectPutSeconds = "transfer_object_put_duration_seconds"
    case databaseRoundTrips = "transfer_database_round_trips"
    case databaseRepetitions = "transfer_database_repetitions"
    case databaseUnknownCommits = "transfer_database_unknown_commits"
    case databaseCommitSeconds = "transfer_database_commit_duration_seconds"
    case databaseWaiting = "transfer_database_queue_length"
    case restarts = "transfer_worker_restarts"
    case crashReports = "transfer_crash_reports"
    case processorSeconds = "process_cpu_seconds"
    case residentMemory = "process_resident_memory_bytes"
    case virtualMemory = "process_virtual_memory_bytes"
    case openDescriptors = "process_open_fds"
    case maximumDescriptors = "process_max_fds"
    case startTime = "process_start_time_seconds"

    var kind: MetricsWriter.Kind {
        switch self {
        case .build: .info
        case .uploads, .received, .sent, .accepted, .refusedConnections, .refusedAuthentications, .requests,
            .processorSeconds, .objectRequests, .objectRepetitions, .databaseRoundTrips, .databaseRepetitions,
            .databaseUnknownCommits:
            .counter
        case .uploadSeconds, .commitSeconds, .syncSeconds, .objectPutSeconds, .databaseCommitSeconds: .histogram
        default: .gauge
        }
    }

    var unit: String? {
        let name = rawValue.utf8
        return ["seconds", "bytes"].first { unit in name.suffix(unit.utf8.count + 1).elementsEqual("_\(unit)".utf8) }
    }

    /// Name of the metric's samples, without a suffix of histograms.
    var sampleName: String {
        switch kind {
        case .counter: rawValue + "_total"
        case .info: rawValue + "_info"
        case .gauge, .histogram: rawValue
        }
    }

    var help: String {
        switch self {
        case .build: "The version of the program."
        case .ready: "1 while the server accepts uploads, otherwise 0."
        case .unready: "1 for each reason why the server accepts no uploads, otherwise 0."
        case .uploads: "Uploads that have ended, by result."
        case .uploadSeconds: "Time from the beginning of an upload to its acknowledgement."
        case .commitSeconds: "Time to make a batch of complete uploads durable and give the files their names."
        case .syncSeconds: "Time to sync a batch of files or directories to disk."
        case .received: "Bytes of content received."
        case .sent: "Bytes sent in answers to requests."
        case .running: "Uploads in progress."
        case .unfinished: "Unfinished uploads that clients can resume."
        case .unfinishedBytes: "Bytes of unfinished uploads on disk."
        case .connections: "Connections, by state."
        case .accepted: "Connections accepted."
        case .refusedConnections: "Connections refused, or closed to make room for others."
        case .refusedAuthentications: "Clients that failed to authenticate."
        case .requests: "Answers to HTTP requests."
        case .watchers: "Clients that wait for events."
        case .poolThreads: "Threads for work that can block."
        case .poolQueue: "Tasks that wait for a thread of the pool."
        case .buffers: "Buffers with content on its way to the disk."
        case .buffersLimit: "Limit of buffers with content on its way to the disk."
        case .unsent: "Bytes that wait for clients to receive them."
        case .diskFree: "Bytes that the server may still write to its file system."
        case .diskSize: "Size of the server's file system."
        case .quotaUsed: "Bytes that count against the quota."
        case .quotaLimit: "The server's quota in bytes."
        case .catalogUploads: "Uploads in the catalog."
        case .mailWaiting: "Deliveries that wait for their recipients."
        case .mailWaitingBytes: "Bytes of deliveries that wait for their recipients."
        case .objectRequests: "Requests to the object store of the cluster."
        case .objectRepetitions: "Requests to the object store that repeat one that has failed."
        case .objectPutSeconds: "Time to store an object, with repetitions and reading it back."
        case .databaseRoundTrips: "Round trips to the database of the cluster."
        case .databaseRepetitions:
            "Transactions that were repeated because the database asked for it or a connection failed."
        case .databaseUnknownCommits: "Transactions whose commit was not answered."
        case .databaseCommitSeconds: "Time from sending a commit to its answer."
        case .databaseWaiting: "Calls that wait for a connection with the database."
        case .restarts: "Times that the supervised server was started again after a crash."
        case .crashReports: "Crash reports that are kept."
        case .processorSeconds: "Processor time that the server has used."
        case .residentMemory: "Resident memory of the server."
        case .virtualMemory: "Virtual memory of the server."
        case .openDescriptors: "File descriptors that are open."
        case .maximumDescriptors: "Limit of open file descriptors."
        case .startTime: "Time of the start, in seconds since 1970."
        }
    }
}
