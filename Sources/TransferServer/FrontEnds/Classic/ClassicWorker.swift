import Synchronization
import TransferClassic
import TransferCodec
import TransferIO
import TransferIntake
import TransferModel
import TransferStore
import TransferSystem

/// The pool's side of a connection on which a classic framing is spoken: makes uploads of what its client has said.
///
/// `@unchecked Sendable`: the session hands it one batch at a time and waits for the outcome, so no two threads are
/// ever in it.
final class ClassicWorker: @unchecked Sendable {
    private enum State {
        case idle
        /// So much of the content has come that its name cannot be made yet.
        case opening(BegunUpload, [UInt8])
        /// With what the content comes to so far, where its sender may say what that should be.
        case open(BlockHasher?)
    }

    let uploads: ConnectionUploads

    /// Whether the session ends before its time, so that nothing is begun that was received already; set on its loop.
    let isEnding = Atomic(false)

    /// Whether the session has more for this worker already; set on its loop.
    let hasMore = Atomic(false)
    let resources: WorkerResources
    private let hasDigests: Bool
    /// Nothing where clients have no names.
    private let guests: ChatGuests?
    /// What the client calls itself, once it may.
    private var name: String?
    /// Why nothing is taken from the client.
    private var refusal: Failure?
    private var state = State.idle
    /// Of the uploads without a result, by the server's ids.
    private var places: [UploadID: Int] = [:]
    /// Batches that are not worked through, and which step of the first one is next.
    private var pending: [ClassicBatch] = []
    private var nextStep = 0
    private var outcome = ClassicOutcome()

    /// - Parameters:
    ///   - hasDigests: whether clients can say what the content's SHA-256 is.
    ///   - guests: gives clients their names, in framings that have any.
    init(
        _ resources: WorkerResources, connection: Int, peer: String, progress: ConnectionProgress, hasDigests: Bool,
        guests: ChatGuests? = nil
    ) {
        (self.resources, self.hasDigests, self.guests) = (resources, hasDigests, guests)
        uploads = ConnectionUploads(resources, connection: connection, peer: peer, progress: progress)
    }

    /// Works on batches until all is done or others have to have their turn; `isBusy` says that there is more.
    func process(_ batches: [ClassicBatch]) -> ClassicOutcome {
        pending += batches
        if pending.contains(where: \.hasBeginnings) || uploads.mustRecheck { note(uploads.recheck().settled) }
        work()
        outcome.isBusy = !pending.isEmpty
        if pending.isEmpty { note(uploads.publish()) }
        if !uploads.intake.pipeline.mayWait(moreFollows: outcome.isBusy || hasMore.load(ordering: .acquiring)) {
            note(uploads.acknowledge().settled)
        }
        uploads.endTurn()
        outcome.isWaiting = uploads.intake.pipeline.isWaiting
        defer { outcome = ClassicOutcome() }
        return outcome
    }

    /// The connection ended: what is not complete will not be.
    ///
    /// - Returns: what had its end.
    func cancel() -> ClassicOutcome {
        // So that the log has a line for it.
        if case .opening(let begun, let head) = state { open(begun, head, isWhole: false) }
        note(uploads.acknowledge().settled)
        uploads.endTurn()
        uploads.leave()
        defer { outcome = ClassicOutcome() }
        return outcome
    }

    private func work() {
        let turn = Turn(on: resources.pool)
        while let batch = pending.first, !turn.isOver {
            if nextStep < batch.operations.count {
                perform(batch.operations[nextStep], batch)
                nextStep += 1
            }
            guard nextStep >= batch.operations.count else { continue }
            pending.removeFirst()
            nextStep = 0
        }
    }

    private func perform(_ operation: ClassicBatch.Operation, _ batch: ClassicBatch) {
        switch operation {
        case .present(let name): signIn(name)
        // Who may not have its name is told so, whatever it has sent.
        case .begin where isRefused: break
        case .begin(let begun):
            state = .opening(begun, [])
            // Whoever declares too much need not send any of it to hear so.
            if let size = begun.upload.size, size > largest { open(begun, [], isWhole: false) }
        case .content(let range): take(batch.bytes(range))
        case .decoded(let bytes): bytes.withUnsafeBytes { take($0) }
        case .end(let end): self.end(end)
        case .abort: abort()
        }
    }
}

// MARK: Names

extension ClassicWorker {
    /// Whether nothing is taken from the client: it may not have its name, or not any more.
    private var isRefused: Bool {
        if refusal == nil, let guests, let name, !guests.mayKeep(name) {
            refusal = .nameTaken(name)
            outcome.signIn = .failure(.nameTaken(name))
        }
        return refusal != nil
    }

    /// What the client sends from now on is from whom it says.
    private func signIn(_ name: String) {
        guard let guests else { return }
        do throws(Failure) {
            uploads.intake.caller = try guests.admit(name)
            self.name = name
            outcome.signIn = .success(name)
        } catch {
            refusal = error
            outcome.signIn = .failure(error)
        }
    }
}

// MARK: One upload

extension ClassicWorker {
    private var largest: UInt64 {
        let intake = uploads.intake
        return intake.caller.maximumUpload(of: intake.intake.maximumUpload)
    }

    private func take(_ bytes: UnsafeRawBufferPointer) {
        switch state {
        case .idle: break
        case .opening(let begun, let head):
            let head = head + bytes
            // The name may have to say what the content is.
            guard begun.upload.name != nil || head.count >= ContentFormat.sampleSize else {
                state = .opening(begun, head)
                return
            }
            open(begun, head, isWhole: false)
        case .open(let hasher): append(bytes, hasher)
        }
    }

    private func append(_ bytes: UnsafeRawBufferPointer, _ hasher: BlockHasher?) {
        note(
            uploads.take { (upload) throws(Failure) in
                hasher?.update(bytes)
                try upload.append(bytes)
            })
    }

    private func open(_ begun: BegunUpload, _ head: [UInt8], isWhole: Bool) {
        let hasher = hasDigests ? BlockHasher(.sha256) : nil
        state = .open(hasher)
        let id = UploadID.random()
        places[id] = begun.place
        let intent = UploadIntent(begun.upload, id: id, beginning: head, isWhole: isWhole)
        if let settled = uploads.begin(intent, mayEnd: false) { return note(settled) }
        let late = isEnding.load(ordering: .relaxed) ? Failure.serverStopping : nil
        if let refusal = begun.refusal ?? late {
            return note(uploads.take { (_) throws(Failure) in throw refusal })
        }
        uploads.noteBeginning()
        head.withUnsafeBytes { append($0, hasher) }
    }

    private func end(_ end: ClassicEnd) {
        if case .opening(let begun, let head) = state { open(begun, head, isWhole: true) }
        guard case .open(let hasher) = state else { return }
        state = .idle
        if let declared = end.digest, let hasher, Digest(.sha256, hasher.finish()) != declared {
            note(uploads.take { (_) throws(Failure) in throw .wrongDigest })
        }
        note(uploads.end(DeclaredEnd(size: end.size)))
    }

    private func abort() {
        if case .opening(let begun, let head) = state { open(begun, head, isWhole: false) }
        state = .idle
        note(uploads.abort())
    }

    private func note(_ settled: [ConnectionUploads.Settled]) {
        for settled in settled { note(settled) }
    }

    /// - Parameter settled: nil if no upload has its result.
    private func note(_ settled: ConnectionUploads.Settled?) {
        guard let settled, let place = places.removeValue(forKey: settled.upload.intent.id) else { return }
        let path = settled.upload.intent.path
        outcome.results.append((place, ClassicResult(settled.outcome, askedFor: path, by: uploads.intake.caller)))
    }
}

extension Failure {
    fileprivate static let wrongDigest = Failure(
        .digestMismatch, "What arrived does not have the SHA-256 that its sender gave: send it again.")
}
