// Programs that import this module also get the modules whose types its API uses.
import TransferIO
import TransferProtocol
@_exported public import TransferKeys
@_exported public import TransferModel
@_exported public import TransferReceipts
import TransferSystem

/// Pushes to one server, and fetches from it.
///
/// ```swift
/// let client = try TransferClient(server: address)
/// for try await event in client.push([.path("photo.png")]) {
///     if case .finished(let report) = event { print(report.result, report.storedPath ?? "") }
/// }
/// ```
public final class TransferClient: Sendable {
    /// The server, and the folder to which paths are relative.
    public let server: ServerAddress

    private let configuration: ClientConfiguration
    private let loops: ClientLoops
    let pool: BlockingPool
    private let buffers: BufferPool
    private let security: ClientSecurity?

    let sweptDirectories: SweptDirectories

    private let knownPlaces = KnownPlaces()

    /// Chunks of 264 KiB for each lane: those that wait, the one being filled, and some for a second push.
    private static let buffersPerLane = 6

    /// Chunks of 264 KiB for all lanes together, 25 MiB: six for each of 16 lanes. More lanes have fewer each.
    static let mostBuffers = 96

    /// Threads that read, digest and compress, in addition to one for each lane: for a second push and for counting.
    private static let spareThreads = 2

    /// Creates a client without connecting to the server.
    ///
    /// - Throws: `TransferFailure` if the process has no threads or descriptors left, or if the configuration
    ///   contradicts itself or the address, such as a token without encryption.
    public init(server: ServerAddress, configuration: ClientConfiguration = ClientConfiguration())
        throws(TransferFailure)
    {
        if case .plaintext = configuration.security, configuration.token != nil { throw .bareToken }
        guard configuration.classic == nil || !configuration.security.isEncrypted else { throw .bareClassic }
        if let failure = configuration.recipientsFailure ?? configuration.archiveFailure(server) { throw failure }
        if let web = server.web { try configuration.check(web) }
        self.server = server
        var configuration = configuration
        // Encrypted content cannot be compressed.
        if configuration.seals { configuration.compression = .none }
        self.configuration = configuration
        sweptDirectories = SweptDirectories(WitnessKey(in: configuration.removalKeys))
        security =
            switch configuration.security {
            case .plaintext: nil
            case .tls(let trust):
                ClientSecurity(trust, server, key: configuration.key, speaksHTTP: server.web != nil)
            }
        do throws(SystemError) {
            loops = try ClientLoops()
        } catch {
            throw TransferFailure(reason: .unreachable, message: "Cannot start a thread: \(error).")
        }
        let lanes = configuration.laneAllowance().most
        pool = BlockingPool(name: "transfer-read", threads: lanes + Self.spareThreads)
        // More lanes than cores may be opened over a distant line.
        let count = configuration.lanes == .auto ? Self.mostBuffers : min(lanes * Self.buffersPerLane, Self.mostBuffers)
        buffers = BufferPool(size: OutgoingChunk.capacity, count: count)
        // Preparing TLS takes longer than connecting, so it begins as early as possible.
        if let security { pool.submit { security.prepare() } }
    }

    deinit {
        pool.close()
    }

    /// Creates a client and checks that the server answers and lets it in.
    ///
    /// - Throws: `TransferFailure` if the server does not, or for the reasons of `init`.
    public static func connect(
        to server: ServerAddress, configuration: ClientConfiguration = ClientConfiguration()
    ) async throws(TransferFailure) -> TransferClient {
        let client = try TransferClient(server: server, configuration: configuration)
        var events = client.push([]).makeAsyncIterator()
        while try await events.next() != nil {}
        return client
    }

    /// The keys with which this client seals and opens; nil if it does neither.
    package var sealing: SealingIdentity? { configuration.sealing }

    /// What requests for stored files share.
    var requestContext: RequestContext {
        RequestContext(
            server: server, configuration: configuration, loops: loops, pool: pool, buffers: buffers,
            security: security)
    }

    /// Recognizes the server's own directory among the sources; nil for a push to recipients, which stores nothing in
    /// the server's tree, and for protocols that cannot ask for the server's directory.
    var places: ServerPlaces? {
        guard server.web == nil, configuration.classic == nil, configuration.recipients.isEmpty else { return nil }
        return ServerPlaces(requestContext, knownPlaces, sweptDirectories.key)
    }

    /// The folder in front of the names of uploads; empty for uploads to recipients, which are in no folder of the
    /// server.
    private var folder: String { configuration.recipients.isEmpty ? server.folder : "" }

    /// Pushes the uploads of a sequence in order, and takes the next one when there is room for it. A failed upload
    /// ends only itself.
    ///
    /// - Returns: the events, which end when every upload has its report. They throw `TransferFailure` if the client
    ///   cannot connect, or cannot connect again in time after it has lost a connection.
    public func push(_ uploads: some Sequence<Upload> & Sendable) -> PushEvents {
        configuration.archives ? archive(uploads) : push(uploads, archive: nil)
    }

    /// - Parameters:
    ///   - archive: takes note of folders, links and further names of files, which this push does not send; nil outside
    ///     an archive.
    ///   - command: the number of the command that the push is part of; random for a separate push.
    func push(
        _ uploads: some Sequence<Upload> & Sendable, archive: ArchiveNotes?,
        command: UInt64 = .random(in: .min ... .max)
    ) -> PushEvents {
        let channel = EventChannel()
        let feed = UploadFeed(
            uploads, folder: folder, selection: configuration.selection, sweeps: sweeps,
            replaces: configuration.conflict == .overwrite, places: places, archive: archive)
        if configuration.countsAhead { count(uploads, channel) }
        // The client must outlive the push, which runs on its loop.
        Task(executorPreference: loops.main) { [self] in
            await run(feed, channel, command)
            withExtendedLifetime(self) {}
        }
        return PushEvents(channel: channel) { feed.leftOut }
    }

    private func archive(_ uploads: some Sequence<Upload> & Sendable) -> PushEvents {
        let channel = EventChannel()
        let archive = ArchivePush(self, Array(uploads), channel)
        let work = Task(executorPreference: loops.main) { [self] in
            await archive.run()
            withExtendedLifetime(self) {}
        }
        channel.connect(onRoom: {}, onCancel: { work.cancel() })
        return PushEvents(channel: channel) { archive.leftOut }
    }

    private func run(_ feed: UploadFeed, _ channel: EventChannel, _ command: UInt64) async {
        var sealing: SealedPush?
        if configuration.seals {
            switch await prepareSealing(channel) {
            case .success(let prepared): sealing = prepared
            case .failure(let failure): return channel.finish(.failure(failure))
            }
        }
        let context = RunContext(
            server: server, configuration: configuration, loop: loops.main, pool: pool, buffers: buffers, feed: feed,
            security: security, sealing: sealing, channel: channel, number: command)
        if let web = server.web {
            await HTTPRun(context, web).run()
        } else if let classic = configuration.classic {
            await ClassicRun(context, classic).run()
        } else {
            await PushRun(context).run()
        }
    }

    /// Asks for the recipients' keys before anything is sent; cancelling the push stops this as well.
    private func prepareSealing(_ channel: EventChannel) async -> Result<SealedPush, TransferFailure> {
        let preparing = Task(executorPreference: loops.main) { [self] in
            do throws(TransferFailure) {
                return Result<SealedPush, TransferFailure>.success(
                    try await prepareSealing(for: configuration.recipients) { channel.send(.notice($0)) })
            } catch {
                return .failure(error)
            }
        }
        channel.connect(onRoom: {}, onCancel: { preparing.cancel() })
        return await preparing.value
    }

    /// Pushes one upload, or one directory with everything in it, and waits for its end.
    ///
    /// - Returns: one report for each file.
    /// - Throws: `TransferFailure` if the client cannot connect, or cannot connect again in time after it has lost a
    ///   connection.
    public func push(_ upload: Upload) async throws(TransferFailure) -> [UploadReport] {
        var reports: [UploadReport] = []
        var events = push([upload]).makeAsyncIterator()
        while let event = try await events.next() {
            if case .finished(let report) = event { reports.append(report) }
        }
        return reports
    }

    /// Counts files and bytes on the pool while the push runs.
    private func count(_ uploads: some Sequence<Upload> & Sendable, _ channel: EventChannel) {
        let feed = UploadFeed(uploads, folder: folder, selection: configuration.selection, places: places)
        pool.submit {
            var (files, bytes): (Int, UInt64) = (0, 0)
            while let item = feed.next() {
                files += 1
                guard case .upload(let upload) = item else { continue }
                let (sum, overflow) = bytes.addingReportingOverflow(upload.content.sizeNow ?? 0)
                bytes = overflow ? .max : sum
            }
            channel.send(.counted(files: files, bytes: bytes))
        }
    }
}

extension ClientConfiguration.Security {
    fileprivate var isEncrypted: Bool { if case .tls = self { true } else { false } }
}

extension ClientConfiguration {
    /// The reason why nothing can be sent to the recipients; nil if sending is possible, or if there are no recipients.
    fileprivate var recipientsFailure: TransferFailure? {
        guard !recipients.isEmpty else { return nil }
        guard recipients.reduce(0, { $0 + 1 + $1.utf8.count }) <= Self.mostRecipientBytes, Recipients(recipients) != nil
        else {
            return TransferFailure(
                reason: .rejected(.unknownRecipient),
                message: "A recipient's name must have 1 to \(Recipients.nameSize) bytes, and all names "
                    + "together at most \(Self.mostRecipientBytes). Nothing was sent.")
        }
        guard !wantsReceipts else {
            return TransferFailure(
                reason: .unsupported,
                message: "Files for recipients get the recipients' receipts, not the server's; push without "
                    + "--receipts. Nothing was sent.")
        }
        guard classic == nil else {
            return TransferFailure(
                reason: .unsupported, message: "Classic framings do not support recipients. Nothing was sent.")
        }
        return nil
    }
}

extension ClientConfiguration {
    /// The reason why the server cannot keep the attributes that `archives` demands; nil if it can, or if `archives` is
    /// not set.
    fileprivate func archiveFailure(_ server: ServerAddress) -> TransferFailure? {
        guard archives, classic != nil || server.web != nil || !recipients.isEmpty else { return nil }
        let place = recipients.isEmpty ? "A server that speaks another protocol" : "A mailbox"
        return TransferFailure(
            reason: .unsupported, message: "\(place) accepts only files; send them without --archive. Nothing was sent."
        )
    }
}

extension TransferFailure {
    fileprivate static let bareClassic = TransferFailure(
        reason: .unsupported, message: "Classic framings do not support encryption. Nothing was sent.")

    fileprivate static let bareToken = TransferFailure(
        reason: .untrusted,
        message: "A token is only sent over encrypted connections, because an eavesdropper could use it. "
            + "Nothing was sent.")
}

/// Synchronizing a local directory with a folder of the server.
extension TransferClient {
    /// Makes the folder of the server's address the same as a local directory: files, folders, symbolic and hard links,
    /// with permissions, times and extended attributes. Entries that the selection leaves out stay unchanged on both
    /// sides.
    ///
    /// - Returns: the events, which end with a summary. They throw `TransferFailure` if one of the two trees cannot be
    ///   read, or the connection is lost for good.
    public func sync(from directory: String, options: SyncOptions = SyncOptions()) -> RequestEvents<SyncEvent> {
        sync(options) { worker throws(TransferFailure) in try await worker.push(directory) }
    }

    /// Makes a local directory the same as the folder of the server's address. The directory is created if it is
    /// missing.
    public func sync(to directory: String, options: SyncOptions = SyncOptions()) -> RequestEvents<SyncEvent> {
        sync(options) { worker throws(TransferFailure) in try await worker.pull(directory) }
    }

    private func sync(
        _ options: SyncOptions,
        _ body: @escaping @Sendable (SyncWorker) async throws(TransferFailure) -> SyncSummary
    ) -> RequestEvents<SyncEvent> {
        let events = EventQueue<SyncEvent>()
        let work = Task { [self] in
            let result: Result<Void, TransferFailure>
            do throws(TransferFailure) {
                let client = try TransferClient(server: server, configuration: requestContext.configuration.syncing)
                let worker = SyncWorker(client, requestContext.configuration.selection, options) { events.send($0) }
                events.send(.ended(try await body(worker)))
                result = .success(())
            } catch {
                result = .failure(error)
            }
            events.finish(result)
        }
        events.connect(onRoom: {}, onCancel: { work.cancel() })
        return RequestEvents(events)
    }

    /// A client with the same settings that keeps more attributes of the files that it sends.
    func keeping(_ kept: ClientConfiguration.KeptAttributes) throws(TransferFailure) -> TransferClient {
        var configuration = requestContext.configuration
        configuration.kept = kept
        return try TransferClient(server: server, configuration: configuration)
    }
}

extension ClientConfiguration {
    /// The settings for the transfers of a sync: the sync has decided which files are replaced, so every file that is
    /// sent overwrites.
    fileprivate var syncing: ClientConfiguration {
        var configuration = self
        (configuration.conflict, configuration.comparesContent) = (.overwrite, true)
        (configuration.countsAhead, configuration.asksByFolder, configuration.archives) = (false, false, false)
        configuration.selection = Selection()
        return configuration
    }
}

extension TransferClient {
    /// Pushes files that appear or change in a directory and below it, until it is cancelled. They are stored under
    /// their paths below the directory. Scans find the files, and notices of the kernel say when to scan; see
    /// `docs/design/watch.md`.
    ///
    /// The watch waits for a server that cannot be reached, and for a directory that does not exist. It follows the
    /// rules in `options` and ignores the client's own `selection`, `recipients` and `asksByFolder`.
    ///
    /// - Returns: the events. They throw `TransferFailure` if the server does not let this client in at the beginning,
    ///   if another process watches the same directory for the same server, or if `options` cannot be met.
    public func watch(_ directory: String, _ options: WatchOptions = WatchOptions()) -> RequestEvents<WatchEvent> {
        let events = EventQueue<WatchEvent>()
        do throws(TransferFailure) {
            try WatchLoop(self, directory, options, events).start()
        } catch {
            events.finish(.failure(error))
        }
        return RequestEvents(events)
    }
}
