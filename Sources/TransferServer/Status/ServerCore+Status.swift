import Glibc
import Synchronization
import TransferAccess
import TransferIntake
import TransferMail
import TransferModel
import TransferStore
import TransferSystem

/// What the server does now. Nobody is asked: all of it lies where sessions and workers have left it, so it costs them
/// nothing, and can be told when a loop no longer answers.
extension ServerCore {
    func status() -> ServerStatus {
        let now = monotonicNanoseconds()
        let connections = observability.connections.all.map { ($0, $0.present) }
        return ServerStatus(
            agent: configuration.agent, process: getpid(), directory: configuration.directory,
            isStopping: intake.isStopping.load(ordering: .relaxed), started: observability.started, now: .now,
            endpoints: observability.endpoints.withLock { $0 }, advertised: configuration.advertised,
            isEncrypted: configuration.security.isEncrypted, isOpen: configuration.isOpen,
            connections: connections.map { ServerStatus.Connection($0, $1, at: now) },
            uploads: uploads(connections.map(\.1), at: now), room: store.room, quota: store.quota,
            minimumFree: transport.settings.space.minimumFree, figures: observability.figures.present(), mail: mail,
            isInDoubt: store.isInDoubt, adoption: intake.adoption.progress,
            restarts: configuration.supervision?.restarts, crashes: observability.crashes,
            crashFolder: observability.crashReports.path)
    }

    private var mail: ServerStatus.Mail? {
        intake.mailroom.map { mailroom in
            ServerStatus.Mail(
                isOpen: mailroom.isOpen, waiting: (try? mailroom.ledger)?.waiting() ?? (0, 0),
                people: mailroom.everybody.count, here: mailroom.visitors)
        }
    }

    private func uploads(_ connections: [ConnectionProgress.State], at now: Int64) -> [ServerStatus.Upload] {
        var whole: [ServerStatus.Upload] = []
        var inParts: [UploadID: ServerStatus.Upload] = [:]
        for connection in connections {
            guard let current = connection.current else { continue }
            let rate = connection.rate.rate(at: now)
            guard current.isPart else {
                whole.append(ServerStatus.Upload(current, connection, rate, at: now))
                continue
            }
            // What is published or was given up is no longer in progress.
            guard let multipart = intake.multiparts[current.id], !multipart.isFinished else { continue }
            if var known = inParts[current.id] {
                known.add(current, rate)
                inParts[current.id] = known
            } else {
                inParts[current.id] = ServerStatus.Upload(current, connection, rate, of: multipart, at: now)
            }
        }
        return whole + inParts.values
    }
}

extension ServerStatus.Connection {
    fileprivate init(_ progress: ConnectionProgress, _ state: ConnectionProgress.State, at now: Int64) {
        self.init(
            number: progress.number, peer: state.asking ?? progress.peer, client: state.client,
            isEstablished: state.isEstablished,
            since: progress.since, stored: state.stored, received: state.received, sent: state.sent,
            rate: state.rate.rate(at: now))
    }
}

extension ServerStatus.Upload {
    /// - Parameter multipart upload: where it comes in parts.
    fileprivate init(
        _ current: ConnectionProgress.Current, _ connection: ConnectionProgress.State, _ rate: Double,
        of multipart: MultipartUpload? = nil, at now: Int64
    ) {
        let started = multipart?.started ?? current.started
        self.init(
            path: current.path, client: connection.client, size: current.size,
            received: min(current.received.addingClamped(multipart?.verified ?? 0), current.size ?? .max), rate: rate,
            seconds: Double(max(0, now - started)) / 1e9)
    }

    /// What another connection has of it.
    fileprivate mutating func add(_ current: ConnectionProgress.Current, _ rate: Double) {
        received = min(received.addingClamped(current.received), size ?? .max)
        self.rate += rate
        connections += 1
    }
}
