import Synchronization
import TransferAccess
import TransferClassic
import TransferCodec
import TransferConnection
import TransferIO
import TransferIntake
import TransferModel
import TransferPorts
import TransferSystem

/// The steps of a conversation in a classic framing: makes uploads of what its client has said.
///
/// Used by one thread at a time, by its `UploadWorker`.
final class ClassicSteps: StepPerformer {
    typealias Batch = ClassicBatch

    private enum State {
        case idle
        /// So much of the content has come that its name cannot be made yet.
        case opening(BegunUpload, [UInt8])
        /// With what the content comes to so far, where its sender may say what that should be.
        case open(BlockHasher?)
    }

    let uploads: ConnectionUploads

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
    private var outcome = ClassicOutcome()

    /// - Parameters:
    ///   - hasDigests: whether clients can say what the content's SHA-256 is.
    ///   - guests: gives clients their names, in framings that have any.
    init(_ uploads: ConnectionUploads, hasDigests: Bool, guests: ChatGuests? = nil) {
        (self.uploads, self.hasDigests, self.guests) = (uploads, hasDigests, guests)
    }

    /// No answer is longer than a result.
    let (isAnswering, hasRoom, isOver) = (false, true, false)

    func perform(_ step: ClassicBatch.Operation, _ content: UnsafeRawBufferPointer) {
        switch step {
        case .present(let name): signIn(name)
        // Who may not have its name is told so, whatever it has sent.
        case .begin where isRefused: break
        case .begin(let begun):
            state = .opening(begun, [])
            // Whoever declares too much need not send any of it to hear so.
            if let size = begun.upload.size, size > largest { open(begun, [], isWhole: false) }
        case .content: take(content)
        case .decoded(let bytes): bytes.withUnsafeBytes { take($0) }
        case .end(let end): self.end(end)
        case .abort: abort()
        }
    }

    func goOnAnswering() {}

    func settled(_ settled: EndedUpload) {
        guard let place = places.removeValue(forKey: settled.upload.intent.id) else { return }
        let path = settled.upload.intent.path
        outcome.results.append((place, ClassicResult(settled.outcome, askedFor: path, by: uploads.intake.caller)))
    }

    /// These framings have no receipts.
    func signed(_ batch: SignedBatch) {}

    func endTurn(leaving left: BatchPipe<ClassicBatch>.Left, refusal: Refusal?) -> ClassicOutcome {
        defer { outcome = ClassicOutcome() }
        outcome.left = left
        return outcome
    }

    /// An upload that waits for its name is begun all the same: it ends at once, and the log has a line for it.
    func connectionEnded() {
        if case .opening(let begun, let head) = state { open(begun, head, isWhole: false) }
    }
}

// MARK: Names

extension ClassicSteps {
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

extension ClassicSteps {
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
        settled(
            uploads.write { (upload) throws(Failure) in
                hasher?.update(bytes)
                try upload.write(bytes)
            })
    }

    private func open(_ begun: BegunUpload, _ head: [UInt8], isWhole: Bool) {
        let hasher = hasDigests ? BlockHasher(.sha256) : nil
        state = .open(hasher)
        let id = UploadID.random()
        places[id] = begun.place
        let intent = UploadIntent(begun.upload, id: id, beginning: head, isWhole: isWhole)
        if let refused = uploads.begin(intent, mayEnd: false) { return settled(refused) }
        let late = uploads.isAbandoned.load(ordering: .relaxed) ? Failure.serverStopping : nil
        if let refusal = begun.refusal ?? late {
            return settled(uploads.write { (_) throws(Failure) in throw refusal })
        }
        uploads.noteBeginning()
        head.withUnsafeBytes { append($0, hasher) }
    }

    private func end(_ end: ClassicEnd) {
        if case .opening(let begun, let head) = state { open(begun, head, isWhole: true) }
        guard case .open(let hasher) = state else { return }
        state = .idle
        if let declared = end.digest, let hasher, Digest(.sha256, hasher.finish()) != declared {
            settled(uploads.write { (_) throws(Failure) in throw .wrongDigest })
        }
        settled(uploads.finish(DeclaredEnd(size: end.size)))
    }

    private func abort() {
        if case .opening(let begun, let head) = state { open(begun, head, isWhole: false) }
        state = .idle
        settled(uploads.abort())
    }
}

extension Failure {
    fileprivate static let wrongDigest = Failure(
        .digestMismatch, "What arrived does not have the SHA-256 that its sender gave: send it again.")
}
