import TransferAccess
package import TransferCodec
package import TransferIntake
import TransferMail
import TransferModel
package import TransferProtocol
import TransferPorts
import TransferSystem

/// Answers a connection's requests on the pool, one after the other, a chunk of frames at a time, so that neither a long file nor a slow
/// client keeps a thread, and memory stays bounded.
///
/// The session calls `step` with new requests, and again while the outcome is busy and the client takes what was made; `end` when the
/// connection is over. Changes and removals are answered when they are durable, up to 128 together.
///
/// ```
///   step ──► recheck access ──► begin ──► go on, until the chunk is full or the turn is over ──► make changes durable ──► outcome
///                                 ▲                      │ the request is answered
///                                 └──────────────────────┘
/// ```
///
/// `@unchecked Sendable`: the session lets it do one step at a time and waits for the outcome, so no two threads use it at once.
package final class RequestWorker: @unchecked Sendable {
    enum Work {
        case sending(FileSending)
        case listing(FolderListing)
        case removing(RemoveRequest, RelativePath, any TreeRemoval, files: UInt64)
        /// The answer to any other kind of request.
        case answering(any RequestAnswer)

        var id: UInt32 {
            switch self {
            case .sending(let sending): sending.request.id
            case .listing(let listing): listing.request.id
            case .removing(let request, _, _, _): request.id
            case .answering(let answer): answer.id
            }
        }
    }

    /// A removal that is answered when it is durable.
    private struct Removed {
        let request: RemoveRequest
        let path: String
        let files: UInt64
    }

    /// The client that asks. Set before the first request; its rights are rechecked when requests arrive, and while a long answer is made.
    package var caller: Caller

    /// Tells whether the client still waits for its answers; nil for a connection without a socket.
    var sender: Sender?

    /// Whether the client accepts holes in content; set when the client is welcomed.
    package var takesHoles = false

    /// ID of the command that the connection is part of, as its client stated it.
    package var run: UInt64? {
        didSet { changes.command = run.map { StoringCommand(id: $0) } }
    }

    /// Whose turn it costs when pictures are decoded. Set before the first request.
    var accountHolder: AccountHolder?

    let resources: WorkerResources
    let peer: String
    /// Received requests; the first `begun` of them have begun.
    private var requests: [Request] = []
    private var begun = 0
    /// IDs of requests that the client has withdrawn.
    private var cancelled: Set<UInt32> = []
    /// Why no further request is begun; nil while requests are begun.
    private var refusal: Failure?
    /// Whether the work was waiting for a signal when the last step ended.
    private var isWaiting = false
    private var work: Work?
    let files: ConnectionFiles
    var outcome = RequestOutcome.nothing
    /// Deliveries that were looked up in this step; nil for IDs that are not for the client.
    var lookedUp: [UploadID: Delivery?] = [:]
    /// Deliveries that were sent to the client in this step.
    var fetched: [Delivery] = []
    private var removed: [Removed] = []
    private let changes: ConnectionChanges
    /// Changes that are answered when they are durable.
    private var changed: [Request] = []
    var events: [LogEvent] = []
    private var failures = FailureTally()
    private var access: AccessRecheck

    /// Bytes of content that must fit into the chunk before another request is begun.
    private static let leastRoom = 4 << 10

    /// Most removals that are answered together.
    private static let removalsAtOnce = 128

    package convenience init(_ resources: WorkerResources, peer: String) {
        self.init(resources, peer: peer, trash: resources.newTrash())
    }

    /// - Parameter trash: the trash batch for what this connection removes.
    init(_ resources: WorkerResources, peer: String, trash: OpenTrashBatch) {
        (self.resources, self.peer) = (resources, peer)
        files = ConnectionFiles(resources)
        access = AccessRecheck(resources.gate)
        changes = ConnectionChanges(resources, trash)
        caller = Caller(peer: peer)
    }

    /// Works until the chunk is full of answers, no work is left, or the turn is over.
    ///
    /// - Parameters:
    ///   - requests: new requests.
    ///   - cancelled: IDs of requests that the client has withdrawn.
    ///   - room: bytes of content to put into the chunk.
    ///   - compression: what to do with content.
    ///   - isStopping: whether nothing new is begun.
    package func step(
        _ requests: [Request], cancelled: [UInt32], room: Int, compression: CompressionGovernor.Choice = .plain,
        isStopping: Bool
    ) -> RequestOutcome {
        outcome = RequestOutcome(
            chunk: AnswerChunk(frames: room, from: resources.chunks),
            compression: AnswerCompression(compression, resources.compressors))
        self.requests += requests
        self.cancelled.formUnion(cancelled)
        outcome.refusal = requests.isEmpty && !isWaiting && !access.isDue ? nil : access.ask(&caller)
        refusal = outcome.refusal.map { Failure($0.code, $0.message) } ?? (isStopping ? .serverStopping : nil)
        if let work,
            let error = outcome.refusal == nil && !self.cancelled.contains(work.id) ? nil : refusal ?? .cancelled
        {
            attempt(work) { () throws(Failure) in throw error }
        } else if isWaiting, let work, case .answering(let answer) = work {
            attempt(work) { () throws(Failure) in try answer.recheck(caller) }
        }
        let turn = Turn(on: resources.pool)
        outcome.chunk.turn = turn
        while outcome.chunk.room >= Self.leastRoom, !turn.isOver, goOn() {}
        endRemovals()
        endChanges()
        noteFetched()
        lookedUp.removeAll(keepingCapacity: true)
        files.endTurn()
        resources.log.write(events)
        events.removeAll(keepingCapacity: true)
        outcome.isBusy = work != nil || begun < self.requests.count
        isWaiting = outcome.waits != nil
        defer { outcome = .nothing }
        return outcome
    }

    /// Whether the chunk has room for another answer besides those that wait for their sync, even if each of them has the longest sentence.
    /// If it has not, the waiting answers are sent first, and the request is begun for the next chunk.
    private var takesRequest: Bool {
        outcome.chunk.room >= Self.leastRoom + (removed.count + changed.count) * Outcome.mostBytes
    }

    /// Drops the work of a connection that has ended.
    package func end() {
        work = nil
        if let repeated = failures.repeated { resources.log.write([.moreFailed(repeated, peer: peer)]) }
    }

    /// - Returns: false if the turn is over, or no work is left.
    private func goOn() -> Bool {
        guard let work else {
            guard takesRequest, let request = takeNext() else { return false }
            // Answers are sent in the order of the requests.
            if isChange(request) { endRemovals() } else { endChanges() }
            if case .remove = request {} else { endRemovals() }
            attempt(request) { () throws(Failure) in
                if isChange(request) { try change(request) } else { self.work = try begin(request) }
            }
            return true
        }
        var mayGoOn = true
        attempt(work) { () throws(Failure) in mayGoOn = try goOn(work) }
        return mayGoOn
    }

    /// IDs of deliveries that the next requests fetch, from at most `count` requests.
    func nextFetched(_ count: Int) -> [UploadID] {
        requests[begun...].prefix(count).compactMap { request in
            if case .fetch(let fetch) = request { fetch.delivery } else { nil }
        }
    }

    private func takeNext() -> Request? {
        guard begun < requests.count else {
            requests.removeAll(keepingCapacity: true)
            begun = 0
            return nil
        }
        begun += 1
        return requests[begun - 1]
    }

    private func begin(_ request: Request) throws(Failure) -> Work {
        if let refusal { throw refusal }
        guard !cancelled.contains(request.id) else { throw .cancelled }
        switch request {
        case .list(let list) where list.wantsPicture: return .answering(try beginPicture(list))
        case .list(let list): return .listing(try begin(list))
        case .fetch(let fetch): return .sending(try begin(fetch))
        case .remove(let remove):
            let path = try place(of: remove)
            let removal = try files.beginRemoval(
                of: path, isRecursive: remove.isRecursive, version: remove.version)
            return .removing(remove, path, removal, files: 0)
        case .compare(let compare): return .answering(try begin(compare))
        case .make(let make) where make.form == .copy:
            return .answering(try changes.copy(make, caller, files, sender: sender))
        case .make, .move: throw .cancelled
        case .people(let people): return .answering(try begin(people))
        case .mail(let mail): return .answering(try begin(mail))
        case .settle(let settle): return .answering(try begin(settle))
        case .introduce(let introduce): return .answering(try begin(introduce))
        }
    }

    private func goOn(_ work: Work) throws(Failure) -> Bool {
        switch work {
        case .sending(let sending):
            guard let digest = try sending.fill(outcome.chunk, &outcome.compression) else { return false }
            outcome.chunk.append(.end(End(size: sending.endSize, digest: digest)))
            if let delivery = sending.delivery, sending.isLast { fetched.append(delivery) }
            events.append(.fetched(sending, digest, peer: peer))
            answered(sending.request.id)
        case .listing(let listing):
            guard try listing.fill(outcome.chunk) else { return false }
            var end = Outcome(id: listing.request.id, code: .completed, count: listing.count)
            end.unlisted = listing.unlisted
            outcome.chunk.append(.outcome(end))
            events.append(.listed(listing.request.path, listing.count, peer: peer))
            answered(listing.request.id)
        case .removing(let request, let path, let removal, let files):
            return try goOn(request, path, removal, files)
        case .answering(let answer):
            guard let ending = try answer.fill(outcome.chunk) else {
                outcome.waits = answer.signal
                if outcome.waits != nil, let refusal { throw refusal }
                return false
            }
            outcome.chunk.append(.outcome(ending))
            if answer.watches { outcome.watches = true }
            events += answer.events(peer: peer)
            answered(answer.id)
        }
        return true
    }

    private func answered(_ id: UInt32) {
        work = nil
        noteAnswer(id)
    }

    private func noteAnswer(_ id: UInt32) {
        outcome.answered.append(id)
        if !cancelled.isEmpty { cancelled.remove(id) }
    }
}

// MARK: Beginning

extension RequestWorker {
    private func begin(_ list: ListRequest) throws(Failure) -> FolderListing {
        if list.trash == .top {
            let folder = try caller.pathInTrash(list.path)
            return FolderListing(list, try resources.tree.trash(below: folder), resources.intake.known)
        }
        let path = try caller.place(of: list)
        if list.wantsDetails { resources.intake.known.indexIfNeeded() }
        guard list.isAboutItself else {
            do throws(Failure) {
                return FolderListing(list, try resources.tree.list(path), resources.intake.known)
            } catch {
                // The folder of a client is made when it first sends something; until then it is empty.
                guard error.code == .notFound, list.path.isEmpty else { throw error }
                return FolderListing(list, nil, resources.intake.known)
            }
        }
        if list.wantsAll, let path {
            let entry = try resources.tree.whole(at: path)
            let details = resources.intake.known.details(of: [(path, entry.attributes)])[0]
            return FolderListing(list, about: ListedEntry(entry, details), resources.intake.known)
        }
        let attributes = try resources.tree.attributes(at: path)
        let name = list.path.isEmpty && list.trash == nil ? "" : path.map { String($0.name) } ?? ""
        let isKnown = list.wantsDetails && !attributes.isDirectory
        let details = isKnown ? path.flatMap { resources.intake.known.details(of: [($0, attributes)])[0] } : nil
        return FolderListing(list, about: ListedEntry(name, attributes, details), resources.intake.known)
    }

    private func beginPicture(_ list: ListRequest) throws(Failure) -> PictureAnswer {
        guard let gallery = resources.gallery else { throw Failure(.wrongForm, "This server decodes no pictures.") }
        guard list.trash != .top, let path = try caller.place(of: list) else {
            throw Failure(.wrongForm, "This is a folder, not a picture.")
        }
        return try PictureAnswer(list, at: path, files, gallery, for: accountHolder)
    }

    private func begin(_ compare: CompareRequest) throws(Failure) -> FolderAnswer {
        switch compare.subject {
        case .uploads(let function):
            let comparison = try FolderComparison(
                resources.intake, caller, path: compare.path, function, compare.digest)
            return FolderAnswer(
                compare, .uploads(comparison, isDurable: resources.isDurable))
        case .entries:
            return FolderAnswer(compare, .entries(try resources.tree.list(try caller.pathForReading(compare.path))))
        }
    }

    private func begin(_ fetch: FetchRequest) throws(Failure) -> FileSending {
        if let delivery = fetch.delivery { return try begin(fetch, of: delivery) }
        guard let path = try caller.pathForReading(fetch.path) else {
            throw Failure(.wrongForm, "The server's directory is a folder, not a file.")
        }
        let content = try files.openSound(path)
        let sending = FileSending(
            fetch, path, content,
            known: fetch.length == nil ? digest(of: content.attributes, at: path, fetch.digest) : nil,
            digester: files.digester(fetch.digest), takesHoles: takesHoles)
        guard sending.isWanted else {
            throw Failure(.fileChanged, "\(path) has changed since the client looked at it.")
        }
        outcome.chunk.append(.file(sending.beginning))
        outcome.beginsContent = true
        return sending
    }

    /// The digest from the catalog. It is looked up only for content of more than one block: less is digested as fast.
    private func digest(
        of attributes: StoredAttributes, at path: RelativePath, _ function: DigestFunction
    ) -> Digest? {
        guard attributes.size > UInt64(Limits.blockSize) else { return nil }
        let known = files.digest(of: attributes, at: path)
        return known?.algorithm == function.tree ? known : nil
    }
}

// MARK: Removing

extension RequestWorker {
    private func goOn(
        _ request: RemoveRequest, _ path: RelativePath, _ removal: any TreeRemoval, _ files: UInt64
    ) throws(Failure) -> Bool {
        var files = files
        let isDone = try self.files.goOn(removal, gone: &files)
        guard isDone else {
            work = .removing(request, path, removal, files: files)
            return false
        }
        work = nil
        removed.append(Removed(request: request, path: path.string, files: files))
        if self.files.mustCommitRemovals || removed.count >= Self.removalsAtOnce { endRemovals() }
        return true
    }

    /// Makes removals durable, then answers them.
    private func endRemovals() {
        guard !removed.isEmpty else { return }
        let ended = removed
        removed.removeAll(keepingCapacity: true)
        do throws(Failure) {
            try files.commitRemovals()
        } catch {
            for removal in ended { fail(removal.request.id, removal.path, error) }
            return
        }
        let isDurable = resources.isDurable
        for removal in ended {
            let id = removal.request.id
            outcome.chunk.append(
                .outcome(Outcome(id: id, code: .completed, isDurable: isDurable, count: removal.files)))
            events.append(.removed(removal.path, removal.files, peer: peer))
            noteAnswer(id)
        }
    }
}

// MARK: Changing

extension RequestWorker {
    /// Whether a request changes names or attributes in one step, and is answered together with others.
    private func isChange(_ request: Request) -> Bool {
        switch request {
        case .make(let make): make.form != .copy
        case .move: true
        case .remove(let remove): remove.keepsInTrash || resources.trashes && remove.trash == nil
        default: false
        }
    }

    /// Path in the server's directory of what is to be removed.
    private func place(of remove: RemoveRequest) throws(Failure) -> RelativePath {
        switch remove.trash {
        case nil: return try caller.pathForRemoving(remove.path)
        case .top:
            throw Failure(.wrongForm, "Name the trash batch to empty; a list of the trash shows the names.")
        case .batch(let batch): return .trash(batch, try caller.pathInTrash(remove.path))
        }
    }

    private func change(_ request: Request) throws(Failure) {
        if let refusal { throw refusal }
        guard !cancelled.contains(request.id) else { throw .cancelled }
        try changes.add(request, caller)
        changed.append(request)
        if changes.mustCommit { endChanges() }
    }

    /// Makes the changes durable, then answers them.
    private func endChanges() {
        guard !changed.isEmpty else { return }
        let ended = changed
        changed.removeAll(keepingCapacity: true)
        let isDurable = resources.isDurable
        for (request, result) in zip(ended, changes.commit()) {
            var answer = Outcome(id: request.id, code: .completed, isDurable: isDurable, count: 1)
            do throws(Failure) {
                let trash = try result.get().trash
                // The frame names the batch of replaced content only.
                if case .remove = request {} else { answer.trash = trash }
            } catch {
                fail(request.id, request.path, error)
                continue
            }
            outcome.chunk.append(.outcome(answer))
            events.append(.changed(request, peer: peer))
            noteAnswer(request.id)
        }
    }
}

// MARK: Failures

extension RequestWorker {
    private func attempt(_ request: Request, _ body: () throws(Failure) -> Void) {
        do throws(Failure) { try body() } catch { failed(request.id, request.path, error) }
    }

    private func attempt(_ work: Work, _ body: () throws(Failure) -> Void) {
        do throws(Failure) {
            try body()
        } catch {
            self.work = nil
            switch work {
            case .sending(let sending):
                if error.code == .contentLost { noteRotten(sending) }
                failed(work.id, sending.path.string, error)
            case .listing(let listing): failed(work.id, listing.request.path, error)
            case .removing(_, let path, _, _): failed(work.id, path.string, error)
            case .answering(let answer): failed(work.id, answer.subject, error)
            }
        }
    }

    private func noteRotten(_ sending: FileSending) {
        if let rotten = sending.suspect { resources.intake.known.add(rotten: rotten) }
        if let delivery = sending.delivery { noteRotten(delivery.mail.id) }
    }

    /// Answers earlier removals and changes first, then this failure.
    private func failed(_ id: UInt32, _ path: String, _ error: Failure) {
        endRemovals()
        endChanges()
        fail(id, path, error)
    }

    private func fail(_ id: UInt32, _ path: String, _ error: Failure) {
        let ending = Outcome(id: id, code: error.code, message: error.message)
        outcome.chunk.append(.outcome(caller.outer(ending)))
        noteAnswer(id)
        events.append(.requestFailed(path, error, peer: peer, isRepeated: failures.add(error.code) > 1))
    }
}

extension Failure {
    /// The failure of a request that the client has withdrawn.
    fileprivate static let cancelled = Failure(.aborted, "The client cancelled the request.")
}

extension Caller {
    /// Path in the server's directory of what is to be listed; nil for the directory itself.
    func place(of list: ListRequest) throws(Failure) -> RelativePath? {
        guard case .batch(let batch) = list.trash else { return try pathForReading(list.path) }
        return .trash(batch, try pathInTrash(list.path))
    }
}
