import Synchronization
import TransferIO
import TransferIntake
import TransferModel
import TransferObjects
import TransferPorts
import TransferPostgres
import TransferSystem

/// The metrics of a server at one moment.
struct MetricsPage {
    private let core: ServerCore
    private let status: ServerStatus
    private let metrics: ServerMetrics
    private var writer: MetricsWriter

    /// Reads figures from the file system and the catalog, which may block.
    init(_ core: ServerCore, _ format: MetricsWriter.Format) {
        (self.core, status, metrics) = (core, core.status(), core.observability.metrics)
        writer = MetricsWriter(format)
    }

    /// The whole page in the chosen format.
    mutating func text() -> [UInt8] {
        writeState()
        writeUploads()
        writeConnections()
        writeWork()
        writeStore()
        writeCluster()
        writeProcess()
        return writer.finish()
    }

    private mutating func begin(_ metric: Metric) {
        writer.begin(metric.rawValue, metric.kind, unit: metric.unit, help: metric.help)
    }

    private mutating func write(_ metric: Metric, _ value: UInt64?) {
        guard let value else { return }
        begin(metric)
        writer.sample([], value)
    }

    private mutating func write(_ metric: Metric, _ count: Int?) { write(metric, count.map { UInt64(clamping: $0) }) }

    private mutating func write(_ metric: Metric, _ label: String, _ values: [(name: String, count: UInt64)]) {
        begin(metric)
        for value in values { writer.sample([(label, value.name)], value.count) }
    }

    private mutating func write(_ metric: Metric, _ histogram: DurationHistogram?) {
        guard let histogram else { return }
        begin(metric)
        writer.sample([], histogram.reading)
    }
}

extension MetricsPage {
    private mutating func writeState() {
        begin(.build)
        let version = status.agent.utf8.split(separator: UInt8(ascii: "/")).last ?? status.agent.utf8[...]
        writer.sample([("version", String(Substring(version)))], 1 as UInt64)
        let reasons = core.unreadiness()
        write(.ready, reasons.isEmpty ? 1 : 0)
        write(.unready, "reason", Unreadiness.allCases.map { ($0.rawValue, reasons.contains($0) ? 1 : 0) })
        write(.restarts, status.restarts)
        write(.crashReports, status.crashes.count)
    }

    private mutating func writeUploads() {
        begin(.uploads)
        for (wire, traffic) in wires {
            for result in traffic.results.readings(always: [.committed, .alreadyStored]) {
                writer.sample([("result", result.name), ("protocol", wire)], result.count)
            }
        }
        write(.uploadSeconds, metrics.uploadDurations)
        write(.commitSeconds, metrics.commitDurations)
        write(.syncSeconds, core.space.syncDurations)
        write(.received, "protocol", wires.map { ($0, $1.received.value) })
        write(.sent, "protocol", wires.map { ($0, $1.sent.value) })
        write(.running, status.uploads.count)
        write(.unfinished, status.figures.unfinished?.count)
        write(.unfinishedBytes, status.figures.unfinished?.bytes)
    }

    private var wires: [(String, ServerMetrics.Traffic)] {
        ServerMetrics.Wire.allCases.compactMap { wire in metrics.traffic[wire].map { (wire.rawValue, $0) } }
    }

    private mutating func writeConnections() {
        let open = status.connections.count { $0.isEstablished }
        let pending = status.connections.count - open
        write(.connections, "state", [("open", UInt64(open)), ("handshake", UInt64(pending))])
        write(.accepted, metrics.accepted.value)
        write(
            .refusedConnections, "reason",
            ConnectionLimits.Shortage.allCases.map { ($0.rawValue, metrics.refusedConnections[$0]?.value ?? 0) })
        write(
            .refusedAuthentications, "reason",
            metrics.refusedAuthentications.readings(always: [.authenticationFailed, .authenticationRequired]))
        begin(.requests)
        for answer in metrics.answers {
            writer.sample([("method", answer.method), ("status", answer.status)], answer.count)
        }
        write(.watchers, core.http.news.watchers)
    }

    private mutating func writeWork() {
        let pool = core.transport.pool.figures
        let busy = pool.threads - pool.idle
        write(.poolThreads, "state", [("busy", UInt64(clamping: busy)), ("idle", UInt64(clamping: pool.idle))])
        write(.poolQueue, pool.waiting)
        write(.buffers, core.transport.buffers.used)
        write(.buffersLimit, Transport.bufferCount)
        write(.unsent, core.transport.unsent.load(ordering: .relaxed))
    }

    private mutating func writeStore() {
        write(.diskFree, status.room?.free)
        write(.diskSize, status.room?.total)
        write(.quotaUsed, status.quota?.used)
        write(.quotaLimit, status.quota?.limit)
        if let catalog = status.figures.catalog {
            write(
                .catalogUploads, "state",
                [("stored", CatalogEntry.State.committed), ("alreadyStored", .alreadyStored)].map { name, state in
                    (name, UInt64(clamping: catalog[state]?.uploads ?? 0))
                })
        }
        write(.mailWaiting, status.mail?.waiting.count)
        write(.mailWaitingBytes, status.mail?.waiting.bytes)
    }

    /// Writes what is counted of the engines of a cluster; a server of a directory has no such metrics.
    private mutating func writeCluster() {
        let (objects, database) = (core.node?.bucket.counters, core.node?.pool.counters)
        if let objects {
            write(
                .objectRequests, "method",
                [("put", objects.puts), ("get", objects.gets), ("delete", objects.deletes)].map { ($0, $1.value) })
        }
        write(.objectRepetitions, objects?.repetitions.value)
        write(.objectPutSeconds, objects?.putDurations)
        write(.databaseRoundTrips, database?.roundTrips.value)
        write(.databaseRepetitions, database?.retries.value)
        write(.databaseUnknownCommits, database?.unknownCommits.value)
        write(.databaseCommitSeconds, database?.commitDurations)
        write(.databaseWaiting, core.node?.pool.waiting)
    }

    private mutating func writeProcess() {
        let process = core.observability.process.reading
        begin(.processorSeconds)
        writer.sample([], process.processor)
        write(.residentMemory, process.memory?.resident)
        write(.virtualMemory, process.memory?.virtual)
        write(.openDescriptors, process.descriptors)
        write(.maximumDescriptors, process.maximumDescriptors)
        begin(.startTime)
        writer.sample([], Double(status.started.seconds))
    }
}
