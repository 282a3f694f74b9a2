import Glibc
import Synchronization
import TransferAccess
import TransferClassic
import TransferCodec
import TransferGallery
import TransferIO
import TransferIntake
import TransferKeys
import TransferMail
import TransferModel
import TransferPorts
import TransferSystem

/// The parts of a server that its sessions use: the intake, the transport, and what is observed. `Server` makes it.
final class ServerCore: Sendable {
    let configuration: ServerConfiguration
    /// Tells how old unfinished uploads and the trash are, so that they can expire.
    let directoryClock = Locked(DirectoryClock())
    let store: any ServerStore
    let folders: OpenedStore.Folders
    let state: StateFolder

    /// The server's part of a cluster; nil for a store on this machine.
    let node: ClusterNode?

    /// Whether this machine still has the store and no other machine has taken it; nil if no machine can take it.
    let isHeld: (@Sendable () throws -> Bool)?
    var space: any StoreSpace { store }

    /// Whether removed and replaced files go to the trash.
    let trashes: Bool

    /// Why the catalog could not be opened; nil if it is open.
    private let catalogFault: RecordsError?

    /// Takes uploads in and acknowledges them.
    let intake: Intake

    let transport: Transport
    let observability: Observability

    /// The protocols that the usual listeners speak.
    let frontEnds: FrontEnds

    /// The server's own certificates; nil without TLS, or with a certificate of a certificate authority.
    let ownTLS: OwnTLS?

    /// Decides how each HTTP request has reached the server.
    let ways: HTTPWays

    /// What all HTTP connections share.
    let http: HTTPShared

    /// Thumbnails of stored pictures; nil if the server makes none.
    let gallery: Gallery?

    /// Pictures that the gallery looks at while no client waits.
    let committedPictures: CommittedPictures

    /// What this server and the others of the store say to each other; nil without others.
    let sharedNews: SharedNews?

    /// Names of clients that have a name but cannot prove it.
    let chatNames = ChatNames()

    /// - Parameter trashes: whether removed and replaced files go to the trash; nil to decide by the directory's setting.
    init(
        configuration: ServerConfiguration, store opened: OpenedStore, state: StateFolder, log: Log, identity: Identity,
        trashes: Bool? = nil, on foundations: ServerFoundations = ServerFoundations()
    ) {
        let store = opened.store
        (self.state, isHeld, node) = (state, opened.isHeld, opened.node)
        (self.configuration, self.store, folders) = (configuration, store, opened.folders)
        self.trashes =
            trashes ?? TrashSetting.decide(configuration.trash, isNew: store.isNew, in: configuration.ownFolder)
        frontEnds = foundations.frontEnds(configuration.http)
        let metrics = ServerMetrics()
        let gate = configuration.authenticator(foundations.openAccess).map {
            AccessGate($0, log: log, metrics.refusedAuthentications)
        }
        let catalog = Self.openCatalog(state, store, log, on: foundations)
        catalogFault = catalog.fault
        let intake = Intake(
            Intake.Configuration(configuration), store: store, records: catalog, signer: identity.signer,
            mailroom: Self.openMailroom(configuration, state, store, log, gate, on: foundations),
            mark: opened.node == nil ? DirectoryMark(in: configuration.ownFolder, catalog: state.catalogPath) : nil
        ) { event in log.write([LogEvent(event)]) }
        self.intake = intake
        intake.giveWay(in: store)
        let transport = Transport(
            configuration, identity, gate,
            threads: max(configuration.blockingThreads, store.abilities.waitingThreads ?? 0))
        self.transport = transport
        ownTLS = identity.ownTLS
        ways = HTTPWays(configuration) { transport.tls?.covers($0) ?? false }
        let figures = StoreFigures {
            StoreFigures.Figures(catalog: intake.known.totals(), unfinished: try? store.parts?.unfinished())
        }
        observability = Observability(of: configuration.directory, log: log, figures, metrics)
        http = HTTPShared(observability.connections, foundations.router)
        committedPictures = CommittedPictures(http.news, store, intake.known)
        gallery = Gallery.open(configuration, state, committedPictures, log, foundations.startDecoding)
        sharedNews = opened.news.map { [http] in SharedNews($0, http.news, intake, transport.pool) }
    }

    /// Opens the catalog. The server also starts with a catalog that cannot be used.
    private static func openCatalog(
        _ state: StateFolder, _ store: any ServerStore, _ log: Log, on foundations: ServerFoundations
    ) -> any UploadRecords {
        foundations.openCatalog(state.catalogPath, store.durability == .commit) { damage in
            log.write([.catalogDamaged(damage)])
        }
    }

    /// Opens the mailboxes. The server also starts if they cannot be used: everything else works.
    private static func openMailroom(
        _ configuration: ServerConfiguration, _ state: StateFolder, _ store: any ServerStore, _ log: Log,
        _ gate: AccessGate?,
        on foundations: ServerFoundations
    ) -> Mailroom? {
        var people: any MailPeople = Nobody()
        if let gate, !configuration.isOpen { people = gate }
        guard configuration.keepsMail && !configuration.isOpen || configuration.chat != nil else { return nil }
        let opened = Result { () throws(RecordsError) in
            try foundations.openMail(state.mailPath, store.durability == .commit, !store.mailFiles().isEmpty)
        }
        if case .failure(let error) = opened { log.write([.mailFailed(error)]) }
        let mailroom = Mailroom(
            opened, people, MailLimits(bytes: configuration.mailboxQuota),
            isShared: store.abilities.isShared)
        gate?.reserve { [weak mailroom] name in mailroom?.isKnown(name) ?? false }
        return mailroom
    }

    /// Refuses a catalog that a newer program has written, because this one cannot acknowledge, count or forget its uploads.
    ///
    /// - Throws: `ServerError` if the catalog is of a newer program.
    func checkCatalog() throws(ServerError) {
        guard let catalogFault, catalogFault.reason == .unknownVersion else { return }
        throw ServerError(catalogFault.message)
    }

    /// Checks that clients of a chat have their mailboxes; this server offers them nothing else.
    ///
    /// - Throws: `ServerError` if the mailboxes cannot be opened.
    func checkChat() throws(ServerError) {
        guard let chat = configuration.chat, let mailroom = intake.mailroom else { return }
        do throws(RecordsError) {
            _ = try mailroom.ledger
        } catch {
            throw ServerError("The mailboxes cannot be opened, and \(chat.name) needs them: \(error.message)")
        }
    }

    /// Logs how many uploads the catalog has, or why it cannot be used.
    func logCatalog() {
        do throws(RecordsError) {
            let uploads = try intake.known.count()
            if uploads > 0 { observability.log.write([.catalogOpened(uploads: uploads)]) }
        } catch {
            observability.log.write([.catalogFailed(error, unrecorded: 0)])
        }
    }
}

/// People for the mailroom of a server that has no lists of clients.
private struct Nobody: MailPeople {
    var people: [MailPerson] { [] }

    func person(_ name: String) -> MailPerson? { nil }
}

extension ServerConfiguration {
    /// Path of the server's own folder in the directory.
    var ownFolder: String { "\(directory)/\(RelativePath.reservedName)" }

    /// The framing that clients use to chat over this server, with names that they cannot prove; nil without chat.
    fileprivate var chat: ClassicFraming? { classic.lazy.map(\.framing).first(where: \.isChat) }
}

extension Intake.Configuration {
    fileprivate init(_ configuration: ServerConfiguration) {
        self.init(
            maximumMultiparts: configuration.maximumMultiparts, filesAtOnce: configuration.filesAtOnce,
            maximumUpload: configuration.maximumUpload, keepUnfinished: configuration.keepUnfinished.nanoseconds)
    }
}

/// Adoption: in a copy of a directory, acknowledgements stay valid after the files have been read again, which happens in the background.
extension ServerCore {
    /// Nanoseconds between two steps while there is nothing to do.
    private static let pause: Int64 = 1_000_000_000

    /// Adopts on a separate thread until everything is adopted or the server has ended. Returns at once if there is nothing to adopt.
    func adopt() {
        guard intake.adoption.isOpen else { return }
        do throws(SystemError) {
            try startThread(name: "transfer-adopt") { [weak self] in
                while let pause = self?.adoptSome() { sleepFor(nanoseconds: pause) }
            }
        } catch {
            // Without the thread, only files that clients ask for are adopted; the next server adopts the others.
            observability.log.write([.adoptionDeferred(error)])
        }
    }

    /// - Returns: nanoseconds to wait before the next step; nil when that was the last.
    private func adoptSome() -> Int64? {
        var pace = ReadPace()
        let step = intake.adoption.step { [observability] count in
            let pause = pace.pause(after: count, isShared: { !observability.connections.all.isEmpty })
            sleepFor(nanoseconds: pause)
        }
        return switch step {
        case .more: 0
        case .wait: Self.pause
        case .over: nil
        }
    }
}

/// The speed of reading files for which no client waits. While clients are connected, half of the time is spent in pauses, so that clients
/// have at least half of the disk.
struct ReadPace {
    /// Bytes that are read between two pauses.
    private static let stride = 4 << 20

    /// Nanoseconds of the longest pause: a disk that stalls because of other programs must not stop all reading.
    private static let longest: Int64 = 500_000_000

    private var bytes = 0
    private var since: Int64

    init(now: Int64 = monotonicNanoseconds()) { since = now }

    /// - Parameter isShared: whether there are clients; called only if a pause is due.
    /// - Returns: nanoseconds to wait.
    mutating func pause(after count: Int, now: Int64 = monotonicNanoseconds(), isShared: () -> Bool) -> Int64 {
        bytes += count
        guard bytes >= Self.stride else { return 0 }
        let took = min(max(0, now - since), Self.longest)
        let pause = isShared() ? took : 0
        (bytes, since) = (0, now + pause)
        return pause
    }
}

private func sleepFor(nanoseconds: Int64) {
    guard nanoseconds > 0 else { return }
    var time = timespec(tv_sec: Int(nanoseconds / 1_000_000_000), tv_nsec: Int(nanoseconds % 1_000_000_000))
    nanosleep(&time, nil)
}

/// What the process may still do while it serves.
extension ServerCore {
    /// Ends the process at once if another machine has taken the store.
    func endUnlessHeld() {
        // If the lock cannot be read now, the next check is in a second.
        guard let isHeld, let isStill = try? isHeld(), !isStill else { return }
        observability.log.write([.lockLost(configuration.directory)])
        observability.log.finish()
        _exit(EXIT_FAILURE)
    }

    /// Confines the process to the directory and the state folder, to removing its Unix sockets when it stops, and to reading renewed files
    /// again. All streams and sockets must be open already. If the kernel cannot confine the process, the log has one line about that.
    func confine() {
        do throws(SystemError) {
            let confinement = Confinement()
            try confinement.allowFiles(below: folders.directory)
            try node?.allow(in: confinement)
            if configuration.stateDirectory != nil { try confinement.allowFiles(below: state.path) }
            // A process removes the files of the Unix sockets that it has bound.
            for case (.unix(let path), _) in configuration.unserved {
                try confinement.allowRemoving(below: Self.folder(of: path))
            }
            if case .listener(.unix(let path)) = configuration.metrics {
                try confinement.allowRemoving(below: Self.folder(of: path))
            }
            for file in rereadFiles {
                // A file that cannot be allowed cannot be read again. That is no reason to leave the process unconfined.
                try? confinement.allowReading(file.path, isReplaceable: file.isReplaceable)
            }
            switch try confinement.enforce() {
            case .confined(let version):
                if !configuration.isRestart {
                    observability.log.write([.confined(version: version, to: configuration.directory)])
                }
            case .unprivileged(let reason): observability.log.write([.notConfined(reason)])
            }
        } catch {
            observability.log.write([.notConfined(error.description)])
        }
    }

    /// Opens libraries that a confined process can no longer open. A library that fails its test is logged: the server is slower without
    /// it.
    func openLibraries() {
        var refusals = SharedLibraries.open()
        if transport.tls != nil, let refusal = TLSContext.wideAESRefusal {
            refusals.append((WideAES.fileName, refusal))
        }
        for case (let file, .unfit(let reason)) in refusals {
            observability.log.write([.libraryUnusable(file, reason)])
        }
    }

    /// Other programs renew certificates by putting new files in place of the old ones.
    private var rereadFiles: [ServerConfiguration.RereadFile] {
        guard case .certificate(let certificate, let key) = configuration.security else {
            return configuration.rereadFiles
        }
        return configuration.rereadFiles + [certificate, key].map { .init($0, isReplaceable: true) }
    }

    /// Calls `whenBound`, the program's last chance to use other files.
    ///
    /// - Returns: events to log.
    func announce(_ endpoints: [Endpoint]) -> [LogEvent] {
        let key = transport.tls?.key.map { KeyFingerprint(of: $0.bytes) }
        let access: any ManagedAccess =
            if let node { node.access() } else { configuration.ownAccess }
        return configuration.whenBound(ServerConfiguration.Bound(endpoints: endpoints, key: key, access: access))
    }

    private static func folder(of path: String) -> String {
        guard let slash = path.lastIndex(of: "/") else { return "." }
        return slash == path.startIndex ? "/" : String(path[..<slash])
    }
}

/// Expiry: removes unfinished uploads, trash and deliveries that are too old.
extension ServerCore {
    /// Records in the catalog which name changes of the last server took effect; to be called before anything else changes.
    func resolveIntended() {
        let changes = intake.known.resolveIntended(in: store)
        if changes > 0 { observability.log.write([.changesResolved(changes)]) }
    }

    /// Removes what is too old, and logs what remains of unfinished uploads.
    ///
    /// - Parameter leftovers: whether to remove files that no client can resume, which the server only knows before the first upload.
    func expire(leftovers: Bool) {
        guard isClockRight() else { return }
        let clock = lookAtClock()
        do throws(Failure) {
            let (removed, left) = try intake.expire(leftovers: leftovers, age: clock.age(of:))
            if removed.count > 0 { observability.log.write([.unfinishedExpired(removed)]) }
            if left.count > 0 { observability.log.write([.unfinishedUploads(left)]) }
        } catch {
            observability.log.write([.expiryFailed(error)])
        }
        intake.forgetUnfinished()
        expireTrash(by: clock)
        expireMail(leftovers: leftovers)
    }

    /// Reads the machine's clock, and writes the clock's state for the next server. If it cannot be written, the next server cannot notice
    /// whether the machine's clock was set in the meantime.
    private func lookAtClock() -> DirectoryClock {
        let path = "\(configuration.directory)/\(RelativePath.reservedName)/clock"
        return directoryClock.withLock { clock in
            if clock == DirectoryClock(), let file = try? OwnFile(reading: path, atMost: 4096), file.isGuarded,
                let text = String(validating: file.content, as: UTF8.self), let known = DirectoryClock(text)
            {
                clock = known
            }
            clock.look(utc: utcNanoseconds() / 1_000_000_000, boot: BootID.current, age: secondsSinceBoot())
            _ = try? OwnFile.write(Array(clock.text.utf8), to: path, replaces: true)
            return clock
        }
    }

    /// Deletes batches of the trash that are older than `keepTrash`.
    private func expireTrash(by clock: DirectoryClock) {
        let keep = transport.settings.keepTrash.nanoseconds / 1_000_000_000
        let files = ConnectionFiles(WorkerResources(self))
        do throws(Failure) {
            for batch in try store.trash(below: nil) {
                guard let moment = batch.moment, clock.age(of: moment.seconds) > keep else { continue }
                var gone: UInt64 = 0
                let removal = try files.beginRemoval(of: .trash(batch, nil), isRecursive: true)
                var isOver = false
                while !isOver, !intake.isStopping.load(ordering: .relaxed) {
                    isOver = try files.goOn(removal, gone: &gone)
                }
                // If the server is stopping, the next server removes the rest.
                guard isOver else { return }
                try files.commitRemovals()
                observability.log.write([.trashExpired(batch, gone)])
            }
        } catch {
            observability.log.write([.expiryFailed(error)])
        }
    }

    /// Deletes deliveries that are older than `keepMail`.
    private func expireMail(leftovers: Bool) {
        guard intake.mailroom?.isOpen ?? false else { return }
        do throws(RecordsError) {
            // If the ledger is in a state folder, the directory can have a second ledger, which names content that this one does not.
            let orphans = leftovers && configuration.stateDirectory == nil ? try intake.mail.sweep() : 0
            let expired = try intake.mail.expire(after: transport.settings.keepMail.nanoseconds)
            observability.log.write(expired.map { .mailExpired($0) })
            if orphans > 0 { observability.log.write([.mailCleanedUp(orphans)]) }
        } catch {
            observability.log.write([.mailFailed(error)])
        }
    }
}

/// The current status of the server. It is read from what sessions and workers have noted, so it costs them nothing and is available even
/// when a loop no longer answers.
extension ServerCore {
    func status() -> ServerStatus {
        let now = monotonicNanoseconds()
        let connections = observability.connections.all.map { ($0, $0.present) }
        return ServerStatus(
            agent: configuration.agent, pid: getpid(), directory: configuration.directory,
            isStopping: isStopping, started: observability.started, now: .now,
            endpoints: observability.endpoints.withLock { $0 }, advertised: configuration.advertised,
            isEncrypted: configuration.security.isEncrypted, allowsAnonymous: configuration.isOpen,
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
                mailboxes: mailroom.everybody.count, connected: mailroom.visitors)
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
            // An upload that is published or given up is no longer in progress.
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
    /// - Parameter multipart: the multipart upload that the current upload is a part of; nil for a whole upload.
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

    /// Adds what another connection sends of the same upload.
    fileprivate mutating func add(_ current: ConnectionProgress.Current, _ rate: Double) {
        received = min(received.addingClamped(current.received), size ?? .max)
        self.rate += rate
        connections += 1
    }
}
